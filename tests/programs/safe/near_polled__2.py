"""A player looks whether it is paused, and steps, under one lock."""

import threading


class Player:
    def __init__(self):
        self.lock = threading.Lock()
        self.paused = False
        self.position = 0
        self.slips = 0

    def step(self):
        with self.lock:
            if not self.paused:
                self.position += 1

    def pause(self):
        with self.lock:
            self.paused = True
            here = self.position
        with self.lock:
            self.slips += self.position != here
            self.paused = False


player = Player()


def music():
    for _ in range(150):
        player.step()


def listener():
    for _ in range(80):
        player.pause()


threads = [threading.Thread(target=music), threading.Thread(target=listener)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: moved on {player.slips} times while paused" if player.slips else "stood still when paused")
