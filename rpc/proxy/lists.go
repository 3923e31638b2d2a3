package proxy

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"boardhand/frame/link"
)

// Lists keeps the ends of long answers, which are the lists of the boards that were
// met, so that a board needs to send them once only. They are files named by their
// hash. Whatever goes wrong with them costs bytes on the line and nothing else.
type Lists struct {
	dir string // empty: they are kept in memory only

	mu      sync.Mutex
	known   map[[8]byte][]byte
	used    map[[8]byte]time.Time
	writing sync.WaitGroup
}

// The bounds of the store.
const (
	maxLists = 16
	maxList  = 64 << 10 // bytes

	unfinished = "new-" // begins the names of files that are being written
)

// OpenLists reads the store in a directory, which need not exist; empty: nothing
// outlives the program. A file that is not what its name says is removed.
func OpenLists(dir string) *Lists {
	s := &Lists{dir: dir, known: map[[8]byte][]byte{}, used: map[[8]byte]time.Time{}}
	if dir == "" {
		return s
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		var hash [8]byte
		name := e.Name()
		if strings.HasPrefix(name, unfinished) {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
				_ = os.Remove(filepath.Join(dir, name))
			}
			continue
		}
		n, err := hex.Decode(hash[:], []byte(name)[:min(len(name), 2*len(hash))])
		if err != nil || n != len(hash) || len(name) != 2*len(hash) {
			continue // no file of ours
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		path := filepath.Join(dir, name)
		var tail []byte
		if info.Mode().IsRegular() && info.Size() <= maxList {
			tail, err = os.ReadFile(path)
		}
		if err != nil || len(tail) == 0 || len(tail) > maxList || link.Hash(tail) != hash {
			_ = os.Remove(path)
			continue
		}
		s.keep(hash, tail, info.ModTime())
	}
	return s
}

// Known is link.Config.Known's. The slice is not changed.
func (s *Lists) Known(hash [8]byte) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tail, ok := s.known[hash]
	if ok {
		s.used[hash] = time.Now()
	}
	return tail, ok
}

// Learn is link.Config.Learn's. It does not wait for the file.
func (s *Lists) Learn(_ [8]byte, tail []byte) {
	if len(tail) == 0 || len(tail) > maxList {
		return
	}
	hash := link.Hash(tail)
	s.mu.Lock()
	_, known := s.known[hash]
	s.mu.Unlock()
	if known {
		return
	}
	tail = slices.Clone(tail)
	s.keep(hash, tail, time.Now())
	if s.dir != "" {
		s.writing.Go(func() { s.write(hash, tail) })
	}
}

// keep takes a list into memory, and puts out the one that was not used for longest
// where there are too many.
func (s *Lists) keep(hash [8]byte, tail []byte, used time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[hash], s.used[hash] = tail, used
	for len(s.known) > maxLists {
		oldest := hash
		for h := range s.known {
			if s.used[h].Before(s.used[oldest]) {
				oldest = h
			}
		}
		delete(s.known, oldest)
		delete(s.used, oldest)
		if s.dir != "" {
			_ = os.Remove(filepath.Join(s.dir, hex.EncodeToString(oldest[:])))
		}
	}
}

// write writes a list to its file: whole, or not at all.
func (s *Lists) write(hash [8]byte, tail []byte) {
	if os.MkdirAll(s.dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(s.dir, unfinished+"*")
	if err != nil {
		return
	}
	_, err = f.Write(tail)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.dir, hex.EncodeToString(hash[:])))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
}

// Close waits for what is being written, and notes on the files when they were used
// last.
func (s *Lists) Close() {
	s.writing.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for hash, t := range s.used {
		if s.dir != "" {
			_ = os.Chtimes(filepath.Join(s.dir, hex.EncodeToString(hash[:])), t, t)
		}
	}
}
