# expect: Service.settings
# within: Client.run

"""Double-checked locking that publishes the object and then fills it in: who does not wait for the lock sees half."""

import threading


class Settings:
    def __init__(self):
        self.host = None
        self.port = None

    def address(self):
        return f"{self.host}:{self.port}"  # bug


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
                    self.current = Settings()  # bug
                    self.current.host = f"host{self.number}"  # bug
                    self.current.port = 8000 + self.number  # bug
        return self.current


class Client(threading.Thread):
    def __init__(self, services):
        super().__init__()
        self.services = services
        self.incomplete = 0

    def run(self):
        for service in self.services:
            if "None" in service.settings().address():
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
