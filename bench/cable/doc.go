// Package cable is a serial cable that can be broken on purpose: two
// pseudo-terminals, and between them a relay that carries bytes as an 8N1 line does,
// ten bit times each, either way on its own. What a real line does to bytes it does
// by seeded chance: wrong bits, bytes lost, inserted and repeated, noise, stalls, one
// direction cut, a wrong baud, a kernel that writes onto the same wire, and unplugging.
//
// The two ends are called A and B and each has a path that a program opens as a
// serial port. An end that is pulled out and plugged in again is another terminal
// under the same path, as with a USB adapter.
//
// It runs on Linux only. The commands below this folder use it: relay gives a person
// such a cable, soak proves that no call over it is lost or runs twice, and speed
// measures the link.
package cable
