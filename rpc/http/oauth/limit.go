package oauth

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// peer is the address that a request is counted for: of IPv6 the /64, since a host
// has all of that. What has no address counts as one.
func peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		net, _ := addr.Prefix(64)
		addr = net.Addr()
	}
	return addr
}

// maxPeers is how many addresses are told apart; more share one allowance.
const maxPeers = 1024

// limiter gives each address, and all of them together, an allowance of requests that
// refills with time (a token bucket). The zero limiter refuses everything.
type limiter struct {
	each, all allowance

	mu    sync.Mutex
	peers map[netip.Addr]*bucket
	total bucket
}

// allowance is so many requests at once, and one more every so often.
type allowance struct {
	burst int
	every time.Duration
}

// bucket is how much of an allowance is used up, as the time when it will be whole.
type bucket struct{ whole time.Time }

// wait is how long until the bucket has one to give; zero: now.
func (b *bucket) wait(a allowance, now time.Time) time.Duration {
	switch {
	case a.burst == 0:
		return time.Hour
	case b.whole.Before(now):
		return 0
	}
	return max(0, b.whole.Sub(now)-time.Duration(a.burst-1)*a.every)
}

func (b *bucket) take(a allowance, now time.Time) {
	if b.whole.Before(now) {
		b.whole = now
	}
	b.whole = b.whole.Add(a.every)
}

// take counts a request of addr; wait is how long it must wait, and zero when it may go on.
func (l *limiter) take(addr netip.Addr) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	b := l.peers[addr]
	if b == nil {
		if len(l.peers) >= maxPeers {
			for a, old := range l.peers {
				if old.whole.Before(now) {
					delete(l.peers, a)
				}
			}
		}
		if len(l.peers) >= maxPeers {
			addr = netip.Addr{}
		}
		if b = l.peers[addr]; b == nil {
			b = new(bucket)
			if l.peers == nil {
				l.peers = make(map[netip.Addr]*bucket)
			}
			l.peers[addr] = b
		}
	}
	if wait = max(b.wait(l.each, now), l.total.wait(l.all, now)); wait == 0 {
		b.take(l.each, now)
		l.total.take(l.all, now)
	}
	return wait
}

// dropOldest makes room in a table: the entry with the earliest time goes.
func dropOldest[K comparable, V any](table map[K]V, when func(V) time.Time) {
	var oldest K
	var earliest time.Time
	for k, v := range table {
		if at := when(v); earliest.IsZero() || at.Before(earliest) {
			oldest, earliest = k, at
		}
	}
	delete(table, oldest)
}

// What a wrong pairing code costs an address: after so many it is locked out, each
// time twice as long as before, until it has been quiet for an hour.
const (
	maxWrong     = 5
	firstLockout = time.Minute
	maxLockout   = time.Hour
)

// lockouts remembers who typed wrong pairing codes.
type lockouts struct {
	mu    sync.Mutex
	peers map[netip.Addr]*lockout
}

type lockout struct {
	wrong int
	times int       // that it was locked
	last  time.Time // of the wrong codes
	until time.Time
}

// wait is how long addr is locked out.
func (l *lockouts) wait(addr netip.Addr) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.peers[l.known(addr)]; p != nil {
		return max(0, time.Until(p.until))
	}
	return 0
}

// wrong counts a wrong code; wait is how long addr is locked out for it.
func (l *lockouts) wrong(addr netip.Addr) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	addr = l.known(addr)
	p := l.peers[addr]
	if p == nil {
		if l.peers == nil {
			l.peers = make(map[netip.Addr]*lockout)
		}
		p = new(lockout)
		l.peers[addr] = p
	}
	p.last = now
	if p.wrong++; p.wrong%maxWrong != 0 {
		return 0
	}
	wait = min(firstLockout<<min(p.times, 10), maxLockout)
	p.times++
	p.until = now.Add(wait)
	return wait
}

// right forgets the wrong codes of addr.
func (l *lockouts) right(addr netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.peers, addr)
}

// known is the entry that addr is counted in; when the table is full, a shared one.
func (l *lockouts) known(addr netip.Addr) netip.Addr {
	now := time.Now()
	if p := l.peers[addr]; p != nil {
		if now.Sub(p.last) > maxLockout && now.After(p.until) {
			delete(l.peers, addr)
		}
		return addr
	}
	if len(l.peers) < maxPeers {
		return addr
	}
	for a, p := range l.peers {
		if now.Sub(p.last) > maxLockout && now.After(p.until) {
			delete(l.peers, a)
		}
	}
	if len(l.peers) < maxPeers {
		return addr
	}
	return netip.Addr{}
}
