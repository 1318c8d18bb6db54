# expect: Flight.sell
# within: Agent.run

"""Agents sell the seats of a flight until one of them says stop: the others have already looked, and sell more."""

import threading


class Flight:
    def __init__(self, number, seats):
        self.number = number
        self.seats = seats
        self.sold = 0
        self.sales_stopped = False

    def sell(self):
        if self.sales_stopped:  # bug
            return False
        self.sold += 1  # bug
        if self.sold >= self.seats:  # bug
            self.sales_stopped = True  # bug
        return True


class Agent(threading.Thread):
    def __init__(self, name, flights, customers):
        super().__init__(name=name)
        self.flights = flights
        self.customers = customers
        self.tickets = []

    def run(self):
        for customer in range(self.customers):
            flight = self.flights[customer % len(self.flights)]
            if flight.sell():
                self.tickets.append((customer, flight.number))


def main():
    flights = [Flight(number, 60) for number in (101, 202)]
    agents = [Agent(f"agent {i}", flights, 80) for i in range(3)]
    for agent in agents:
        agent.start()
    for agent in agents:
        agent.join()
    for flight in flights:
        tickets = sum(number == flight.number for agent in agents for _, number in agent.tickets)
        print(f"flight {flight.number}: {flight.seats} seats, {flight.sold} sold, {tickets} tickets")


main()
