package proxy

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"boardhand/frame/link"
)

func TestMessagesPassAsTheyAre(t *testing.T) {
	for _, msg := range []string{
		`{"jsonrpc":"2.0","id":12345678901234567890,"method":"tools/list"}`,
		`{"jsonrpc":"2.0", "id" : "\u0061/\/" ,"method":"tools\/call","params":{"x":1.50e0}}`,
		`{"id":-0,"method":"ping"}`,
	} {
		bubble(t, func(b *bench) {
			b.link.begin()
			b.say(msg)
			b.crosses(msg)
			_, id, _ := strings.Cut(msg, `"id"`)
			id = strings.TrimSpace(strings.TrimLeft(id, " :"))
			id = strings.TrimSpace(id[:strings.Index(id, ",")])
			answer := `{"jsonrpc":"2.0","id":` + id + `,"result":{"y":2.50}}`
			b.link.give(answer)
			b.hears(answer)
		})
	}
}

func TestAnAnswerHasTheFramingOfItsRequest(t *testing.T) {
	bubble(t, func(b *bench) {
		b.link.begin()
		b.say(asks("1", "ping"), header(asks("2", "ping"))+asks("3", "ping"))
		b.crosses(asks("1", "ping"), asks("2", "ping"), asks("3", "ping"))
		b.link.give(answers("3"), "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}}", answers("2"))
		synctest.Wait()
		b.mu.Lock()
		got := b.out.String()
		b.mu.Unlock()
		if want := answers("3") + "\n" + `{"jsonrpc":"2.0", "id":1,"result":{}}` + "\n" + header(answers("2")); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestWhatIsNoJSONDoesNotCross(t *testing.T) {
	bubble(t, func(b *bench) {
		b.link.begin()
		b.say(`{"jsonrpc":`, `7`, `{"id":1.5,"method":"ping"}`, `{"id":1,"method":"ping","id":2}`)
		b.crosses()
		b.hears(
			`{"jsonrpc":"2.0","error":{"code":-32700,"message":"invalid JSON at byte 11: the text ends too early, expected a value"}}`,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"a message must be a JSON object"}}`,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"id must be a string or a whole number"}}`,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"key \"id\" stands twice in the message"}}`)
		b.say(asks("1", "ping"))
		b.crosses(asks("1", "ping"))
	})
}

func TestWhatTheBoardSendsThatIsNoJSONIsDropped(t *testing.T) {
	bubble(t, func(b *bench) {
		b.link.begin()
		b.say(asks("1", "ping"))
		b.link.give(`{"jsonrpc":"2.0","id":1,"res`, `8`, answers("9"), answers("1"))
		b.hears(answers("1"))
		if len(b.log) != 2 || !strings.Contains(b.log[0], "invalid JSON") {
			t.Errorf("the log is %q", b.log)
		}
	})
}

func TestWithoutABoardARequestWaitsAndFails(t *testing.T) {
	bubble(t, func(b *bench) {
		b.say(asks("1", "initialize"))
		time.Sleep(time.Millisecond)
		b.say(asks("2", "tools/call"), `{"method":"notifications/initialized"}`)
		b.hears()
		time.Sleep(DefaultWait - time.Second)
		b.hears()
		time.Sleep(time.Second)
		b.hears(fails("1", away, "not done"), fails("2", away, "not done"))
		b.say(asks("3", "tools/call"))
		b.link.begin()
		b.crosses(asks("3", "tools/call")) // and nothing of what was answered
	})
}

func TestASilenceThatEndsCostsNothing(t *testing.T) {
	bubble(t, func(b *bench) {
		b.link.begin()
		b.say(asks("1", "tools/call"))
		b.crosses(asks("1", "tools/call"))
		b.p.Down()
		b.say(asks("2", "tools/call"))
		b.crosses() // it waits here: there it could be done after it was given up
		time.Sleep(time.Second)
		b.p.Up(b.link, link.Peer{})
		b.crosses(asks("2", "tools/call"))
		b.link.give(answers("1"), answers("2"))
		b.hears(answers("1"), answers("2"))
	})
}

func TestAfterARestartNothingIsDoneTwice(t *testing.T) {
	bubble(t, func(b *bench) {
		b.link.begin()
		b.say(asks("1", "tools/call"), asks("2", "tools/list"), asks(`"x"`, "mcp/executeTool"), asks("4", "unheard/of"))
		for range 4 {
			b.link.take() // delivered
		}
		b.say(asks("5", "tools/call"))
		b.link.end(link.ErrRestarted)
		b.hears(fails("1", unknownRestart, "unknown"), fails(`"x"`, unknownRestart, "unknown"), fails("4", unknownRestart, "unknown"))
		b.link.begin()
		b.crosses(asks("2", "tools/list"), asks("5", "tools/call"))
		b.link.give(answers("1"), answers("5"), answers("2"))
		b.hears(answers("5"), answers("2"))

		b.say(asks("6", "tools/call"))
		b.link.take()
		b.link.end(link.ErrSilence)
		b.hears(fails("6", unknownLost, "unknown"))
	})
}

// The next session may have begun before all of the last one was taken.
func TestWhatCameBeforeTheEndIsStillAnAnswer(t *testing.T) {
	bubble(t, func(b *bench) {
		b.link.begin()
		b.say(asks("1", "tools/call"), asks("2", "tools/call"))
		b.crosses(asks("1", "tools/call"), asks("2", "tools/call"))
		b.link.give(answers("1"))
		b.link.end(link.ErrRestarted)
		b.link.begin()
		b.hears(answers("1"), fails("2", unknownRestart, "unknown"))
		b.say(asks("3", "tools/call"))
		b.crosses(asks("3", "tools/call"))
	})
}

func TestTheSessionOfTheClientIsOpenedAgain(t *testing.T) {
	const (
		hello   = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
		ready   = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		level   = `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`
		hello2  = `{"jsonrpc":"2.0","id":"boardhand/replay/initialize","method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
		level2  = `{"jsonrpc":"2.0","id":"boardhand/replay/level","method":"logging/setLevel","params":{"level":"info"}}`
		refused = `{"jsonrpc":"2.0","id":"boardhand/replay/level","error":{"code":1,"message":"no"}}`
	)
	bubble(t, func(b *bench) {
		b.link.begin()
		b.say(hello)
		b.crosses(hello)
		b.link.give(answers("1"))
		b.say(ready, level)
		b.crosses(ready, level)
		b.link.give(answers("2"))
		b.hears(answers("1"), answers("2"))
		for range 2 {
			b.link.end(link.ErrRestarted)
			b.say(asks("3", "tools/call"))
			b.link.begin()
			b.crosses(hello2, ready, level2, asks("3", "tools/call"))
			b.link.give(answers(`"boardhand/replay/initialize"`), refused, answers("3"))
			b.hears(answers("3"))
			if len(b.log) == 0 {
				t.Error("that a replay was refused is not said")
			}
		}
	})
}

// What a message needs to have come before it does not overtake.
func TestWhatChangesTheSessionOrActsOvertakesNothing(t *testing.T) {
	bubble(t, func(b *bench) {
		b.link.begin()
		b.say(asks("1", "initialize"), asks("2", "tools/list"), `{"method":"notifications/x"}`)
		var flags []link.Flags
		for range 3 {
			_, f := b.link.take()
			flags = append(flags, f)
		}
		b.link.give(answers("1"))
		synctest.Wait()
		b.say(asks("3", "tools/list"), asks("4", "tools/call"), asks("5", "ping"))
		for range 3 {
			_, f := b.link.take()
			flags = append(flags, f)
		}
		if got, want := fmt.Sprint(flags), fmt.Sprint([]link.Flags{0, link.Ordered, link.Ordered, 0, link.Ordered, 0}); got != want {
			t.Errorf("flags %s, want %s", got, want)
		}
	})
}

func TestOfACancelledRequestNothingIsHeard(t *testing.T) {
	const cancel = `{"jsonrpc":"2.0","method":"notifications\/cancelled","params":{"requestId":1}}`
	bubble(t, func(b *bench) {
		b.link.begin()
		b.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"p"}}}`, asks("2", "tools/call"))
		const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`
		b.link.give(progress)
		b.hears(progress)
		b.say(cancel)
		b.link.take()
		b.link.take()
		if got, flags := b.link.take(); got != cancel || flags&link.Ordered == 0 {
			t.Errorf("the cancellation went as %q, %v", got, flags)
		}
		b.link.give(progress, answers("1"), answers("2"))
		b.hears(answers("2"))

		b.p.Down() // nor where it never was sent
		b.say(asks("1", "tools/call"), cancel)
		time.Sleep(2 * DefaultWait)
		b.hears()
		b.p.Up(b.link, link.Peer{})
		b.crosses()
	})
}

func TestABatchIsOneMessage(t *testing.T) {
	batch := "[" + asks("1", "tools/call") + "," + asks("2", "tools/list") + `,{"jsonrpc":"2.0","method":"notifications/x"}]`
	bubble(t, func(b *bench) {
		b.link.begin()
		b.say(batch)
		b.crosses(batch)
		b.link.give("[" + answers("2") + "," + answers("7") + "," + answers("1") + "]")
		b.hears("[" + answers("2") + "," + answers("1") + "]")

		b.say(batch)
		b.crosses(batch)
		b.link.end(link.ErrRestarted)
		b.hears("[" + fails("1", unknownRestart, "unknown") + "," + fails("2", unknownRestart, "unknown") + "]")
		b.link.begin()
		b.crosses()

		b.say(batch) // refused as a whole: then nothing of it is open
		b.crosses(batch)
		const no = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no batches"}}`
		b.link.give(no)
		b.hears(no)
		b.link.end(link.ErrRestarted)
		b.hears()
	})
}

func TestWhatWasReadIsAnsweredBeforeTheEnd(t *testing.T) {
	bubble(t, func(b *bench) {
		b.say(asks("1", "tools/call"), asks("2", "tools/list"))
		_ = b.in.Close()
		b.link.begin()
		b.crosses(asks("1", "tools/call"), asks("2", "tools/list"))
		b.link.give(answers("1"))
		synctest.Wait()
		select {
		case <-b.served:
			t.Error("Serve has returned before the second answer")
		default:
		}
		b.link.give(answers("2"))
		b.hears(answers("1"), answers("2"))
	})
	bubble(t, func(b *bench) { // a request that is never answered does not hold it for ever
		b.link.begin()
		b.say(asks("1", "subscriptions/listen"))
		_ = b.in.Close()
		start := time.Now()
		b.served <- <-b.served
		if took := time.Since(start); took < maxQuiet || took > maxQuiet+time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// slow is a client that does not read.
type slow struct{ wake chan struct{} }

func (s slow) Write(p []byte) (int, error) {
	<-s.wake
	return len(p), nil
}

func TestAClientThatDoesNotReadIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{})
		f := newFake(p)
		r, w := io.Pipe()
		client := slow{make(chan struct{})}
		served := make(chan error)
		go func() { served <- p.Serve(r, client) }()
		f.begin()
		const requests = 3 * maxOpen
		go func() {
			for i := range requests {
				_, _ = fmt.Fprintln(w, asks(fmt.Sprint(i), "ping"))
			}
			_ = w.Close()
		}()
		synctest.Wait()
		f.mu.Lock()
		asked := len(f.sent)
		f.mu.Unlock()
		if asked != maxOpen {
			t.Errorf("%d requests were taken, want %d", asked, maxOpen)
		}
		for i := range asked {
			f.give(fmt.Sprintf(`{"id":%d,"result":"%s"}`, i, strings.Repeat("x", flushAt/4)))
		}
		synctest.Wait()
		f.mu.Lock()
		left := len(f.queue)
		f.mu.Unlock()
		if left < asked-5 {
			t.Errorf("%d of %d answers were taken off the link, though nobody reads", asked-left, asked)
		}
		close(client.wake)
		for i := asked; i < requests; i++ {
			f.give(answers(fmt.Sprint(i)))
			synctest.Wait()
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		f.close()
	})
}

// gone is a client that has closed its end.
type gone struct{}

var errPipe = errors.New("broken pipe")

func (gone) Write([]byte) (int, error) { return 0, errPipe }

func TestAClientThatIsGoneEndsIt(t *testing.T) {
	p := New(Config{})
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = io.WriteString(w, "{\n") }()
	if err := p.Serve(r, gone{}); err != errPipe {
		t.Errorf("got %v", err)
	}
}

// Whatever the sessions do, every request is answered once, and no call is done twice.
func TestEveryRequestIsAnsweredOnce(t *testing.T) {
	for seed := range uint64(200) {
		bubble(t, func(b *bench) {
			rng := rand.New(rand.NewPCG(seed, 1))
			var board sync.WaitGroup
			stop := make(chan struct{})
			done := map[string]int{} // by id
			board.Go(func() {
				alive := false
				for {
					select {
					case <-stop:
						if !alive {
							b.link.beginAtOnce()
						}
						for {
							time.Sleep(time.Millisecond)
							msg, _ := b.link.takeOne()
							if msg == "" {
								return
							}
							_, id, _ := strings.Cut(msg, `"id":`)
							id, _, _ = strings.Cut(id, ",")
							done[id+msg]++
							b.link.give(answers(id))
						}
					case <-time.After(time.Duration(rng.IntN(1000)) * time.Millisecond):
					}
					switch r := rng.IntN(10); {
					case r == 0 && alive:
						b.link.end(link.ErrRestarted)
						alive = false
					case r < 3 && !alive:
						b.link.beginAtOnce()
						alive = true
					case alive:
						msg, _ := b.link.takeOne()
						if msg == "" {
							continue
						}
						_, id, _ := strings.Cut(msg, `"id":`)
						id, _, _ = strings.Cut(id, ",")
						done[id+msg]++
						if rng.IntN(3) > 0 {
							b.link.give(answers(id))
						} else if rng.IntN(2) > 0 { // it restarts while it works
							b.link.end(link.ErrRestarted)
							alive = false
						} else {
							b.link.give(answers(id))
						}
					}
				}
			})
			const requests = 60
			pauses := rand.New(rand.NewPCG(seed, 2))
			for i := range requests {
				method := "tools/call"
				if i%3 == 0 {
					method = "tools/list"
				}
				_, _ = fmt.Fprintln(b.in, asks(fmt.Sprint(i), method))
				time.Sleep(time.Duration(pauses.IntN(500)) * time.Millisecond)
			}
			close(stop)
			board.Wait()
			time.Sleep(2 * DefaultWait)
			synctest.Wait()
			b.mu.Lock()
			got := b.out.String()
			b.mu.Unlock()
			for i := range requests {
				if n := strings.Count(got, fmt.Sprintf(`"id":%d,`, i)); n != 1 {
					t.Errorf("seed %d: request %d was answered %d times", seed, i, n)
				}
			}
			for msg, n := range done {
				if n > 1 && strings.Contains(msg, "tools/call") {
					t.Errorf("seed %d: %s was done %d times", seed, msg, n)
				}
			}
		})
	}
}

func question(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":{}}`
}

func withdrawn(id, reason string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"` + reason + `"}}`
}

func TestTheBoardsQuestionsAndTheirAnswersPass(t *testing.T) {
	bubble(t, func(b *bench) {
		b.link.begin()
		b.say(asks("1", "tools/call"))
		b.crosses(asks("1", "tools/call"))
		b.link.give(question(`"q-1"`), question(`"q-2"`), withdrawn(`"q-2"`, "done"))
		b.hears(question(`"q-1"`), question(`"q-2"`), withdrawn(`"q-2"`, "done"))
		b.say(answers(`"q-1"`), answers(`"q-1"`), answers(`"q-2"`), answers(`"q-3"`), `{"jsonrpc":"2.0","result":{}}`)
		b.crosses(answers(`"q-1"`))
		b.link.give(answers("1"))
		b.hears(answers("1"))
	})
}

func TestAnAnswerWaitsForABoardThatIsSilent(t *testing.T) {
	bubble(t, func(b *bench) {
		b.link.begin()
		b.say(asks("1", "tools/call"))
		b.crosses(asks("1", "tools/call"))
		b.link.give(question("7"))
		b.hears(question("7"))
		b.p.Down()
		b.say(answers("7"))
		b.crosses()
		time.Sleep(20 * time.Second)
		b.p.Up(b.link, link.Peer{})
		b.crosses(answers("7"))
	})
}

// The next session may ask under the same id: an answer to the last one is none to it.
func TestAQuestionEndsWithItsSession(t *testing.T) {
	const lost = "the session with the board was lost"
	for _, silent := range []bool{false, true} {
		bubble(t, func(b *bench) {
			b.link.begin()
			b.say(asks("1", "tools/call"))
			b.crosses(asks("1", "tools/call"))
			b.link.give(question("7"), question("8"))
			b.hears(question("7"), question("8"))
			if silent {
				b.p.Down()
				b.say(answers("7")) // which waits, and is dropped then
				b.link.end(link.ErrSilence)
				b.hears(withdrawn("8", lost), fails("1", unknownLost, "unknown"))
			} else {
				b.link.end(link.ErrSilence)
				b.hears(withdrawn("7", lost), withdrawn("8", lost), fails("1", unknownLost, "unknown"))
			}
			b.link.begin()
			b.say(answers("7"), answers("8"), asks("2", "tools/call"))
			b.crosses(asks("2", "tools/call"))
			b.link.give(question("9"))
			b.hears(question("9"))
			b.say(answers("8"), answers("9"))
			b.crosses(answers("9"))
		})
	}
}

// Whoever dials anew closes a link with its session, and begins another.
func TestASessionEndsWithTheLinkThatIsClosed(t *testing.T) {
	for _, early := range []bool{false, true} {
		bubble(t, func(b *bench) {
			b.link.begin()
			b.say(asks("1", "tools/call"), asks("2", "tools/list"))
			b.crosses(asks("1", "tools/call"), asks("2", "tools/list"))
			old := b.link
			b.link = newFake(b.p)
			if early { // before the end of the old one was taken
				b.link.beginAtOnce()
			}
			old.close()
			if !early {
				synctest.Wait()
				b.link.begin()
			}
			b.hears(fails("1", unknownLost, "unknown"))
			b.crosses(asks("2", "tools/list"))
			b.say(asks("3", "tools/call"))
			b.crosses(asks("3", "tools/call"))
			b.link.give(answers("2"), answers("3"))
			b.hears(answers("2"), answers("3"))
			if n := len(b.p.line.receives); n != 1 {
				t.Errorf("%d links are kept", n)
			}
		})
	}
}

func TestQuestionsOfTheBoardAreBounded(t *testing.T) {
	bubble(t, func(b *bench) {
		b.link.begin()
		var all []string
		for i := range maxQuestions {
			all = append(all, question(fmt.Sprint(i)))
		}
		b.link.give(append(all, question("1000"))...)
		b.hears(all...)
		if len(b.log) != 1 || !strings.Contains(b.log[0], "64 are not answered") {
			t.Errorf("the log is %q", b.log)
		}
	})
}

func TestAnAnswerDoesNotWaitBehindWhatIsForNobody(t *testing.T) {
	for _, last := range []string{answers("9"), `{"id":`, "8", "[" + answers("9") + "]"} {
		bubble(t, func(b *bench) {
			b.link.begin()
			b.say(asks("1", "ping"))
			b.link.give(answers("1"), last)
			b.hears(answers("1"))
		})
	}
}
