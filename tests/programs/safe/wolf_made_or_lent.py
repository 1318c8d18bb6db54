"""What is not there to be lent is made; who has it gives it back, whatever others gave back meanwhile."""

import threading


class Brush:
    made = 0

    def __init__(self):
        self.strokes = 0


class Box:
    def __init__(self):
        self.lock = threading.Lock()
        self.brushes = []

    def lend(self):
        with self.lock:
            if self.brushes:
                return self.brushes.pop()
        return Brush()

    def take_back(self, brush):
        with self.lock:
            self.brushes.append(brush)


box = Box()


def paint(strokes):
    brush = box.lend()
    brush.strokes += strokes
    box.take_back(brush)


def painter():
    for _ in range(40):
        paint(3)


painters = [threading.Thread(target=painter) for _ in range(3)]
for one in painters:
    one.start()
for one in painters:
    one.join()
strokes = sum(brush.strokes for brush in box.brushes)
print(f"broken: {strokes} strokes" if strokes != 360 else "360 strokes")
