package boardfile

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"boardhand/device/policy"
	"boardhand/device/sim"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want sim.Wiring
	}{
		"nothing":      {"", sim.Wiring{}},
		"an empty":     {"# nothing yet\n[sim]\n", sim.Wiring{}},
		"dotted":       {"sim.seed = -3", sim.Wiring{Seed: -3}},
		"no wires":     {"[sim]\nwire = []", sim.Wiring{Wires: []sim.Wire{}}},
		"inline":       {"[sim]\nwire = [{from = \"GPIO4\", to = \"GPIO5\"}]", sim.Wiring{Wires: []sim.Wire{{From: "GPIO4", To: "GPIO5"}}}},
		"a clock":      {"[[sim.clock]]\nline = \"GPIO5\"\nhz = 2\nedges = 10\nafter_ms = 1.5", sim.Wiring{Clocks: []sim.Clock{{Line: "GPIO5", Hz: 2, Edges: 10, AfterMs: 1.5}}}},
		"a slow bus":   {"[[sim.slow]]\nbus = 1\nms = 300\nnack_timeout = true", sim.Wiring{Slow: []sim.Slow{{Bus: 1, Ms: 300, NackTimeout: true}}}},
		"CRLF":         {"[sim]\r\nseed = 1\r\n", sim.Wiring{Seed: 1}},
		"whole number": {"[[sim.jam]]\nbus = 1\nseconds = 30", sim.Wiring{Jams: []sim.Jam{{Bus: 1, Seconds: 30}}}},
		"everything": {`
[sim]
seed = 7
[[sim.wire]]
from = "GPIO17"
to = "GPIO27"
[[sim.wire]]
from = "ID_SDA"
to = "GPIO4"
[[sim.jam]]
bus = 1
[[sim.slow]]
bus = 1
ms = 2.5
`, sim.Wiring{Seed: 7, Wires: []sim.Wire{{From: "GPIO17", To: "GPIO27"}, {From: "ID_SDA", To: "GPIO4"}},
			Jams: []sim.Jam{{Bus: 1}}, Slow: []sim.Slow{{Bus: 1, Ms: 2.5}}}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Parse("board.toml", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(f.Sim, c.want) {
				t.Errorf("%+v, want %+v", f.Sim, c.want)
			}
		})
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	fileKeys := strings.Join(keys(reflect.TypeFor[contents]()), ", ")
	simKeys := "; sim has " + strings.Join(keys(reflect.TypeFor[sim.Wiring]()), ", ")
	for text, want := range map[string]string{
		"[sim]\nsed = 1":              "board.toml:2: sim.sed is no key" + simKeys,
		"[sim]\nseed = 1\nSeed = 2":   "board.toml:3: sim.Seed is no key" + simKeys,
		"[Sim]\nseed = 1":             "board.toml:1: Sim is no key; the file has " + fileKeys,
		"[sim]\nnow = 1":              "board.toml:2: sim.now is no key" + simKeys,
		"[sim]\nwires = []":           "board.toml:2: sim.wires is no key" + simKeys,
		"x = 1":                       "board.toml:1: x is no key; the file has " + fileKeys,
		"sim.seed = 1\nsim . 'x' = 2": "board.toml:2: sim.x is no key" + simKeys,
		"[sim]\n[sim.x.y]":            "board.toml:2: sim.x is no key" + simKeys,
		"[[sim.wire]]\nfrom = \"GPIO4\"\nto = \"GPIO5\"\n[[sim.wire]]\n# form\nform = \"GPIO17\"":       "board.toml:6: sim.wire.form is no key; sim.wire has from, to",
		"[sim]\nwire = [\n  {from = \"GPIO4\", to = \"GPIO5\"},\n  {from = \"GPIO6\", too = \"x\"},\n]": "board.toml:4: sim.wire.too is no key; sim.wire has from, to",
		"[sim]\nwire = [{from = \"GPIO4\", to = \"GPIO5\"}]\nfrom = 1":                                  "board.toml:3: sim.from is no key" + simKeys,
		"[sim]\nseed = 'x'":          "board.toml:2: sim.seed is of type string; integer is allowed",
		"sim = 1":                    "board.toml:1: sim is of type integer; table is allowed",
		"[[sim]]":                    "board.toml:1: sim is of type array of tables; table is allowed",
		"[sim]\nwire = 1":            "board.toml:2: sim.wire is of type integer; array of tables is allowed",
		"[sim]\nwire = [1]":          "board.toml:2: sim.wire is of type integer; table is allowed",
		"[sim.wire]\nfrom = 'GPIO4'": "board.toml:1: sim.wire is of type table; array of tables is allowed",
		"[[sim.jam]]\nbus = 1.5":     "board.toml:2: sim.jam.bus is of type float; integer is allowed",
		"[[sim.slow]]\nms = '1'\n[[sim.slow]]\nms=2":           "board.toml:2: sim.slow.ms is of type string; float is allowed",
		"[sim]\nseed = 1\n[sim]\n":                             "board.toml:3: Key 'sim' has already been defined.",
		"[sim\n":                                               "board.toml:2: expected '.' or ']' to end table name, but got '\\n' instead",
		"[sim]\nseed = 99999999999999999999":                   "board.toml:2: 99999999999999999999 is out of range for int64",
		"[sim]\nseed = \"\xff\"":                               "board.toml:2: invalid UTF-8 byte: 0xff",
		"[[sim.jam]]\nbus = 3":                                 "board.toml: sim.jam: bus 3; the simulated board has bus 1 only",
		"[[sim.jam]]\nbus = 1\nseconds = nan":                  "board.toml: sim.jam: seconds NaN; 0 (for ever) to 86400 are allowed",
		"[[sim.wire]]\nfrom = 'GPIO17'\nto = 'GPIO99'":         `board.toml: sim.wire: to "GPIO99" is no line of the simulated board; GPIO0 to GPIO53 and the kernel's names, as "STATUS_LED_N", are allowed`,
		strings.Repeat("#", MaxSize+1):                         "board.toml: 1048577 bytes; a board file has at most 1048576",
		"\na = " + strings.Repeat("[", 1000):                   "board.toml:2: brackets nest more than 16 deep",
		"\"[\"=1 # [\n" + "a = " + strings.Repeat("{a=", 1000): "board.toml:2: brackets nest more than 16 deep",
		"a" + strings.Repeat(" . a", 1000) + " = 1":            "board.toml:1: a key has more than 16 dots",
		"[" + strings.Repeat("a.", 1000) + "a]":                "board.toml:1: a key has more than 16 dots",
	} {
		_, err := Parse("board.toml", []byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%.80q\n got  %v\n want %s", text, err, want)
		}
	}
}

func TestStringsAndCommentsDoNotNest(t *testing.T) {
	deep := strings.Repeat("[", 100)
	for _, text := range []string{
		"# " + deep,
		"x = \"" + deep + "\\\"" + deep + "\"",
		"x = '" + deep + "\\'",
		"x = \"\"\"\n" + deep + "\n\"" + deep + "\"\"\"",
		"x = '''\n" + deep + "\n'" + deep + "'''",
	} {
		if line, what := checkDepth([]byte(text)); what != "" {
			t.Errorf("%.20q: line %d: %s", text, line, what)
		}
		if line, what := checkDepth([]byte(text + "\n" + deep)); line != 2+strings.Count(text, "\n") || what == "" {
			t.Errorf("%.20q and brackets: line %d: %s", text, line, what)
		}
	}
}

// FuzzParse: no text panics; every error is one line that begins with the file's
// name; what is taken fits the board.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"[sim]\nseed = 7\n[[sim.wire]]\nfrom = \"GPIO17\"\nto = \"GPIO27\"\n[[sim.jam]]\nbus = 1\nseconds = 1.5\n[[sim.slow]]\nbus = 1\nms = 2",
		"sim = {wire = [{from = 'GPIO4', to = '''GPIO5'''}]}",
		"[sim]\nx.y.\"z\" = [1, {a = \"\\\"[\"}] # [",
		"a=[[[[1]]]]", "[[a]]\n[a.b]", "\"\"\"", "'", "\xef\xbb\xbf[sim]", "[sim]\nseed = 1979-05-27T07:32:00Z",
		"allow = 'everything'\n[[line]]\nline = 'GPIO17'\nname = 'pump'\naccess = 'write'\nmax_on = '3s'\nneeds = ['fan']\n[tools.rate]\n'gpio_*' = '3/s'",
		"[[modbus]]\ntarget = 'x'\n[[modbus.point]]\nname = 'p'\naddress = 1\n[[i2c]]\nbus = 1\naddress = '1-3'\n[[i2c.register]]\nregister = 3\ntype = 'i24'\nmin = -3.5",
		"[[tool]]\nname = 't'\ndescription = 'd'\n[[tool.param]]\nname = 'p'\n[[tool.step]]\nprogram = ['/bin/true', '{p}']",
	} {
		f.Add([]byte(seed))
	}
	if text, err := os.ReadFile("testdata/greenhouse.toml"); err == nil {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("b", text)
		if err != nil {
			if s := err.Error(); !strings.HasPrefix(s, "b:") || strings.Contains(s, "\n") || len(s) > 1000 {
				t.Errorf("%q", s)
			}
			return
		}
		if err := file.Sim.Check(); err != nil {
			t.Error(err)
		}
		if file.Rules != nil {
			w, err := policy.Wrap(sim.Open(sim.Wiring{}), file.Rules, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.Names()
			if g := w.GPIO(); g != nil {
				_, _ = g.Lines(nil)
			}
			w.Close()
		}
	})
}

func ExampleParse() {
	_, err := Parse("board.toml", []byte("[[sim.jam]]\nbus = 1\nsecond = 30\n"))
	fmt.Println(err)
	// Output: board.toml:3: sim.jam.second is no key; sim.jam has bus, seconds
}
