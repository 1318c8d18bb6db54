"""The player is taken from the table once, and plays even if it is sent off meanwhile."""

import threading


class Player:
    def __init__(self, name):
        self.name = name

    def hit(self, ball):
        return f"{self.name} hits {ball}"


class Game:
    def __init__(self, player):
        self.player = player

    def rally(self, ball):
        player = self.player
        if player is not None:
            return player.hit(ball)
        return None

    def send_off(self):
        self.player = None

    def send_on(self, player):
        self.player = player


class Rallies(threading.Thread):
    def __init__(self, game, balls):
        super().__init__()
        self.game = game
        self.balls = balls
        self.lost = 0

    def run(self):
        for ball in range(self.balls):
            try:
                self.game.rally(ball)
            except AttributeError:
                self.lost += 1


class Changes(threading.Thread):
    def __init__(self, game, players):
        super().__init__()
        self.game = game
        self.players = players

    def run(self):
        for player in self.players:
            self.game.send_off()
            self.game.send_on(player)


def main():
    ping, pong = Player("ping"), Player("pong")
    game = Game(ping)
    rallies = [Rallies(game, 200) for _ in range(2)]
    changes = Changes(game, [pong, ping] * 100)
    for thread in (*rallies, changes):
        thread.start()
    for thread in (*rallies, changes):
        thread.join()
    print(f"{sum(one.lost for one in rallies)} balls met nobody")


main()
