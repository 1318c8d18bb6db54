"""A list is made when it is needed first: looked at without the lock, and by other words under it."""

import threading


class Menu:
    def __init__(self):
        self.lock = threading.Lock()
        self.dishes = None
        self.cooked = 0

    def get(self):
        dishes = self.dishes
        if dishes is None:
            with self.lock:
                dishes = self.dishes
                if not dishes:
                    self.cooked += 1
                    dishes = ["soup", "rice"]
                    self.dishes = dishes
        return dishes


menus = [Menu() for _ in range(60)]


def guest():
    for menu in menus:
        menu.get()


threads = [threading.Thread(target=guest) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("cooked once" if all(menu.cooked == 1 for menu in menus) else "broken: cooked twice")
