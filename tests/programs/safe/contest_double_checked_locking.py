"""The settings are filled in first and published last: who sees them sees all of them."""

import threading


class Service:
    """Makes its settings when they are asked for first."""

    def __init__(self, number):
        self.number = number
        self.current = None
        self.lock = threading.Lock()

    def settings(self):
        if self.current is None:
            with self.lock:
                if self.current is None:
                    made = {}
                    made["host"] = f"host{self.number}"
                    made["port"] = 8000 + self.number
                    self.current = made
        return self.current

    def address(self):
        settings = self.settings()
        if "host" not in settings or "port" not in settings:
            return None
        return f"{settings['host']}:{settings['port']}"


class Client(threading.Thread):
    def __init__(self, services):
        super().__init__()
        self.services = services
        self.incomplete = 0

    def run(self):
        for service in self.services:
            if service.address() is None:
                self.incomplete += 1


def main():
    services = [Service(number) for number in range(150)]
    clients = [Client(services) for _ in range(3)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    print(f"{sum(client.incomplete for client in clients)} addresses were not complete")


main()
