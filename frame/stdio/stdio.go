// Package stdio is standard input and output as one byte stream, read and
// written by one goroutine with the least delay and processor time that Go
// allows.
//
// A server that answers one request after the other spends its life in read(2).
// Entered in the ordinary way, every read hands its processor back to Go's
// scheduler, which on a busy connection costs as much again as the call itself
// (measured against a C program that answers a canned line: 1.9 times its
// processor time and twice its 99th percentile). So while nothing else in the
// process can want to run, Stream enters read and write behind the scheduler's
// back. The scheduler notices a goroutine that keeps its processor for over
// 10 ms and sends its thread SIGURG (runtime: sysmon, retake, preemptM); the
// signal is set to interrupt system calls here, so the read returns EINTR, and
// the wait goes on in an ordinary read that lets the processor go. An idle
// server never wakes; the garbage collector, which uses the same signal, is
// never held up.
//
// While a job or a timer is pending, and on systems where this is not known to
// hold, reads and writes are the ordinary ones.
package stdio
