package gate_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// exampleOf is the first block of TOML of the README.
func exampleOf(t *testing.T) (readme, example string) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```toml\n")
	example, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the README has no board file")
	}
	return string(text), example
}

// The README's board file does what the README says of it.
func TestTheBoardFileOfTheREADME(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		readme, example := exampleOf(t)
		d := newDesk(t, example, nil)
		defer d.Close()
		if got := d.answer("gpio_list", `{}`); !strings.Contains(got, `"total":3`) || strings.Contains(got, `"GPIO5"`) {
			t.Errorf("the lines are %s", got)
		}
		on, off := `{"line":"pump","level":1}`, `{"line":"pump","level":0}`
		for _, x := range []struct{ tool, args, want string }{
			{"gpio_write", `{"line":"GPIO5","level":1}`, `board.toml: line "GPIO5": no [[line]] opens it`},
			{"led_set", `{"led":"ACT","state":"on"}`, "board.toml: tool \"led_set\" is closed, for no [[led]] opens anything for it; ask the owner of the file"},
			{"gpio_write", on, "ok"},
			{"gpio_write", off, "ok"},
			{"gpio_write", on, `board.toml:3: line "pump"`}, // within min_off
			{"gpio_write", `{"line":"heater","level":1}`, "asked "},
		} {
			if got := d.call(x.tool, x.args); !strings.HasPrefix(got, x.want) {
				t.Errorf("%s %s: %q, want %q", x.tool, x.args, got, x.want)
			}
		}
		if got := d.confirm("gpio_write", `{"line":"heater","level":1}`); !strings.Contains(got, "fan") {
			t.Errorf("the heater without its fan: %q", got)
		}
		if got := d.call("gpio_write", `{"line":"fan","level":1}`); got != "ok" {
			t.Error(got)
		}
		if got := d.confirm("gpio_write", `{"line":"heater","level":1}`); got != "ok" {
			t.Errorf("the heater with its fan: %q", got)
		}
		// The rate that the README meets.
		time.Sleep(time.Hour)
		refusal := ""
		for range 11 {
			if got := d.call("gpio_write", on); got != "ok" {
				refusal = got
			}
			time.Sleep(450 * time.Millisecond)
		}
		quoted := regexp.MustCompile("`(board.toml:3: line \"pump\": rate = 10/min is used up; come again in )[0-9]+s`").FindStringSubmatch(readme)
		if quoted == nil || !strings.HasPrefix(refusal, quoted[1]) {
			t.Errorf("the rate is refused by %q, and the README has %q", refusal, quoted)
		}
		// max_on
		time.Sleep(time.Hour)
		if got := d.call("gpio_write", on); got != "ok" {
			t.Error(got)
		}
		time.Sleep(29 * time.Second)
		if got := d.answer("gpio_read", `{"lines":["pump"]}`); !strings.Contains(got, `"level":1`) {
			t.Errorf("after 29 s %s", got)
		}
		time.Sleep(2 * time.Second)
		if got := d.answer("gpio_read", `{"lines":["pump"]}`); !strings.Contains(got, `"level":0`) {
			t.Errorf("after max_on %s", got)
		}
	})
}
