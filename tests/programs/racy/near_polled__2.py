# expect: Player.step
# within: music

"""A player polls whether it is paused before each step; who paused it notes where it stands, and it moves on."""

import threading


class Player:
    def __init__(self):
        self.lock = threading.Lock()
        self.paused = False
        self.position = 0
        self.slips = 0

    def step(self):
        if self.paused:  # bug
            return
        with self.lock:
            self.position += 1  # bug

    def pause(self):
        with self.lock:
            self.paused = True  # bug
            here = self.position  # bug
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
