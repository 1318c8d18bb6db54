"""Two scanners send article and count at once, and the one reader at the other end stores them."""

import queue
import threading

belt = queue.Queue()


class Scanner:
    def __init__(self, article):
        self.article = article

    def scan(self, count):
        belt.put((self.article, count))


def shelf(scanner):
    for _ in range(60):
        scanner.scan(7 if scanner.article == "tea" else 9)


def storekeeper(stock, rounds):
    for _ in range(rounds):
        article, count = belt.get()
        stock.append((article, count))


stock = []
keeper = threading.Thread(target=storekeeper, args=(stock, 120))
keeper.start()
threads = [threading.Thread(target=shelf, args=(Scanner(article),)) for article in ("tea", "rice")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
keeper.join()
odd = [pair for pair in stock if pair not in (("tea", 7), ("rice", 9))]
print(f"broken: stock has {odd[0]}" if odd else "stock is right")
