//go:build race

package bench

// raceDetector is at work: it makes all ten times slower. Tests in which one goroutine
// does everything, so that it has nothing to find, do a part of their work.
const raceDetector = true
