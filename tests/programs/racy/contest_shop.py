# expect: Customer.buy
# within: Customer.run

"""Each method of the shop is locked, but between the look at the shelf and the buying another customer comes."""

import threading


class SoldOutError(Exception):
    pass


class Shop:
    def __init__(self, goods):
        self.stock = dict.fromkeys(goods, 0)
        self.lock = threading.Lock()

    def has(self, good):
        with self.lock:
            return self.stock[good] > 0  # bug

    def sell(self, good):
        with self.lock:
            if self.stock[good] == 0:  # bug
                raise SoldOutError(good)
            self.stock[good] -= 1  # bug

    def supply(self, good, count):
        with self.lock:
            self.stock[good] += count


class Supplier(threading.Thread):
    def __init__(self, shop, goods, deliveries):
        super().__init__()
        self.shop = shop
        self.goods = goods
        self.deliveries = deliveries

    def run(self):
        for _ in range(self.deliveries):
            for good in self.goods:
                self.shop.supply(good, 1)


class Customer(threading.Thread):
    def __init__(self, shop, wishes):
        super().__init__()
        self.shop = shop
        self.wishes = wishes
        self.bag = []
        self.disappointed = 0

    def run(self):
        for good in self.wishes:
            try:
                self.buy(good)
            except SoldOutError:
                self.disappointed += 1

    def buy(self, good):
        if self.shop.has(good):  # bug
            self.shop.sell(good)  # bug
            self.bag.append(good)


def main():
    goods = ("bread", "milk")
    shop = Shop(goods)
    supplier = Supplier(shop, goods, 60)
    customers = [Customer(shop, goods * 50) for _ in range(3)]
    for thread in (supplier, *customers):
        thread.start()
    for thread in (supplier, *customers):
        thread.join()
    bought = sum(len(customer.bag) for customer in customers)
    print(f"{bought} bought, {sum(customer.disappointed for customer in customers)} were disappointed at the till")


main()
