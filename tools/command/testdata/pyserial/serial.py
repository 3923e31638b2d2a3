"""What port.py uses of pyserial, so that it runs where that is not installed."""
import os
import termios
import tty


class Serial:
    def __init__(self, path, baud):
        fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(fd)
        mode = termios.tcgetattr(fd)
        mode[4] = mode[5] = getattr(termios, "B%d" % baud)
        termios.tcsetattr(fd, termios.TCSANOW, mode)
        file = open(fd, "r+b", buffering=0)
        self.write, self.readline = file.write, file.readline
