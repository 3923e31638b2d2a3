package httpfront

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestPresence(t *testing.T) {
	const silent, ended, again = "no client was heard over HTTP for 1m0s", "the last client over HTTP has ended its session", ""
	for name, x := range map[string]struct {
		do   func(p *presence)
		want []string
	}{
		"nobody came yet": {func(*presence) { time.Sleep(time.Hour) }, nil},
		"requests a minute apart": {func(p *presence) {
			for range 5 {
				p.enter()
				p.leave()
				time.Sleep(59 * time.Second)
			}
		}, nil},
		"silence, and again": {func(p *presence) {
			p.enter()
			p.leave()
			time.Sleep(61 * time.Second)
			p.enter()
			time.Sleep(time.Hour) // a stream
			p.leave()
			time.Sleep(59 * time.Second)
		}, []string{silent, again}},
		"one that runs holds for all": {func(p *presence) {
			p.enter()
			for range 3 {
				p.enter()
				p.leave()
				time.Sleep(time.Hour)
			}
		}, nil},
		"the last session ends": {func(p *presence) {
			p.enter()
			p.ended()
			p.leave()
			time.Sleep(time.Hour)
			p.enter()
			p.leave()
		}, []string{ended, again}},
		"the last session ends while another client has none": {func(p *presence) {
			p.enter()
			p.outside()
			p.leave()
			p.enter()
			p.ended()
			p.leave()
			time.Sleep(61 * time.Second)
		}, []string{silent}},
		"the last session ends while a request runs": {func(p *presence) {
			p.enter()
			p.enter()
			p.ended()
		}, nil},
		"the front has ended": {func(p *presence) {
			p.enter()
			p.leave()
			p.close()
			time.Sleep(time.Hour)
			p.enter()
			p.ended()
			p.leave()
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []string
				p := &presence{grace: time.Minute, tell: func(gone string) { told = append(told, gone) }}
				x.do(p)
				p.close()
				synctest.Wait()
				if !slices.Equal(told, x.want) {
					t.Errorf("told %q, want %q", told, x.want)
				}
			})
		})
	}
}
