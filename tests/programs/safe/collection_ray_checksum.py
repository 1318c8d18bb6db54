"""All renderers add to the checksum of the scene under the lock of the scene."""

import threading


class Scene:
    def __init__(self):
        self.checksum = 0
        self.lock = threading.Lock()


class Renderer(threading.Thread):
    def __init__(self, scene, rows):
        super().__init__()
        self.scene = scene
        self.rows = rows

    def run(self):
        for row in self.rows:
            self.render(row)

    def render(self, row):
        light = sum(row * column % 7 for column in range(9))
        with self.scene.lock:
            self.scene.checksum = self.scene.checksum + light


scene = Scene()
renderers = [Renderer(scene, range(first, 90, 3)) for first in range(3)]
for renderer in renderers:
    renderer.start()
for renderer in renderers:
    renderer.join()
expected = sum(row * column % 7 for row in range(90) for column in range(9))
print("rendered" if scene.checksum == expected else "broken: the checksum is wrong")
