#!/usr/bin/python3
"""An idle daemon with two ports sleeps, and still hears the first packet at once."""

import time

import harness
from case import SwitchCase
from traffic import ping, process_cpu_seconds


class Idle(SwitchCase):
    def test_idle_costs_less_than_a_percent_of_a_core(self):
        self.tcp(seconds=1)
        for namespace in (self.a, self.b):  # no neighbour discovery in between
            namespace.run("ip", "neigh", "flush", "all")
        time.sleep(2)
        before = process_cpu_seconds(self.switch.pid)
        time.sleep(5)
        used = process_cpu_seconds(self.switch.pid) - before
        self.assertLess(used / 5, 0.01, "CPU seconds per second of idling")

    def test_first_packet_after_idle(self):
        for _ in range(3):
            time.sleep(3)
            (first,) = ping(self.a, self.ADDRESS["b"][4], count=1)
            self.assertLess(first, 20, "milliseconds; a sleeping thread that nobody wakes takes longer")


if __name__ == "__main__":
    harness.main(time_limit=120)
