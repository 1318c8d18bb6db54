# expect: Lottery.play
# within: User.run

"""The number that was drawn is kept in a field until it is written down: somebody else draws in between."""

import threading


class Generator:
    """Numbers that look random, each once in a period."""

    def __init__(self, seed):
        self.state = seed

    def draw(self):
        self.state = (self.state * 21 + 17) % 1000
        return self.state


class Lottery:
    def __init__(self):
        self.lock = threading.Lock()
        self.generator = Generator(7)
        self.number = None
        self.tickets = {}

    def play(self, user):
        with self.lock:
            self.number = self.generator.draw()  # bug
        with self.lock:
            self.tickets.setdefault(self.number, []).append(user)  # bug

    def sold_twice(self):
        with self.lock:
            return [number for number, users in self.tickets.items() if len(users) > 1]


class User(threading.Thread):
    def __init__(self, name, lottery, games):
        super().__init__(name=name)
        self.lottery = lottery
        self.games = games

    def run(self):
        for _ in range(self.games):
            self.lottery.play(self.name)


def main():
    lottery = Lottery()
    users = [User(name, lottery, 60) for name in ("Ada", "Ben", "Cleo")]
    for user in users:
        user.start()
    for user in users:
        user.join()
    print(f"{len(lottery.sold_twice())} numbers were sold twice")


main()
