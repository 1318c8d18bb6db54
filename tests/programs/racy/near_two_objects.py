# expect: Shop.follow
# within: shop_hours

"""A shop copies the rate of the bank: an old rate is stored after the bank had set a new one in both places."""

import threading

market = threading.Lock()


class Bank:
    def __init__(self):
        self.rate = 0


class Shop:
    def __init__(self, bank):
        self.bank = bank
        self.rate = 0

    def follow(self):
        with market:
            rate = self.bank.rate  # bug
        with market:
            self.rate = rate  # bug


bank = Bank()
shop = Shop(bank)
apart = []


def announce(rate):
    with market:
        bank.rate = rate  # bug
        shop.rate = rate  # bug


def shop_hours():
    for _ in range(80):
        shop.follow()
        with market:
            apart.append(shop.rate != bank.rate)


def bank_hours():
    for rate in range(80):
        announce(rate)


threads = [threading.Thread(target=shop_hours), threading.Thread(target=bank_hours)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: shop and bank had different rates" if any(apart) else "one rate")
