package main

import (
	"math"
	"slices"
	"testing"
)

func TestParseBudgets(t *testing.T) {
	tests := []struct {
		name string
		text string
		want []budget
		err  string
	}{
		{"a highest and a lowest value", "peers.p50_ratio_c max 1.15\npeers.pipelined_ratio_c min 0.6\n",
			[]budget{{"peers.p50_ratio_c", true, 1.15}, {"peers.pipelined_ratio_c", false, 0.6}}, ""},
		{"comments, blanks and others' names are passed over", "# x\n\n  peers.rss_mib \t max 4 # MiB\nallocs.ping max 0\n",
			[]budget{{"peers.rss_mib", true, 4}}, ""},
		{"another word than max or min", "\npeers.rss_mib most 4", nil, `line 2: "peers.rss_mib most 4" is not of the form: name max|min value`},
		{"no value", "peers.rss_mib max", nil, `line 1: "peers.rss_mib max" is not of the form: name max|min value`},
		{"a value that is no number", "peers.rss_mib max four", nil, `line 1: "four" is not a number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseBudgets(tt.text)
			if text := errorText(err); text != tt.err {
				t.Fatalf("error %q, want %q", text, tt.err)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCheckNamesWhatIsExceededOrUnknown(t *testing.T) {
	budgets := []budget{{"peers.a", true, 2}, {"peers.b", true, 2}, {"peers.c", false, 2}, {"peers.d", false, 2}, {"peers.e", true, 2}}
	figures := map[string]float64{"peers.a": 2, "peers.b": 2.5, "peers.c": 2, "peers.d": 1.5}
	want := []string{
		"peers.b is 2.5, its budget at most 2",
		"peers.d is 1.5, its budget at least 2",
		"peers.e has a budget but was not measured; -json FILE lists the names",
	}
	left, got := check(budgets, figures)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	// Those alone are measured for once more.
	if want := []budget{budgets[1], budgets[3], budgets[4]}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
}

func TestFiguresAreMediansOfRoundsAndOfTheirRatios(t *testing.T) {
	boardhand, floor, mcpgo := newServer("boardhand", "boardhand"), newServer("C", "floor"), newServer("mcpgo", "mcpgo")
	for i, p50 := range []float64{10, 40, 22} { // ratios 1, 2, 1.1
		boardhand.add(pipe, "p50", p50)
		floor.add(pipe, "p50", []float64{10, 20, 20}[i])
		boardhand.add(socket, "p50", 2*p50)
		boardhand.add(pipe, "cpu", 3)
		floor.add(pipe, "cpu", 2)
		mcpgo.add(pipe, "cpu", 50)
	}
	boardhand.add(pipe, "rss", 3)
	figures := figuresOf([]*server{boardhand, floor, mcpgo})
	want := map[string]float64{"peers.p50_us": 22, "peers.p50_us.socket": 44, "peers.p50_ratio_c": 1.1, "peers.rss_mib": 3,
		"peers.floor_p50_us": 20, "peers.cpu_us": 3, "peers.cpu_ratio_c": 1.5, "peers.cpu_ratio_mcpgo": 0.06, "peers.cpu_own_ratio_mcpgo": 0.02}
	for name, value := range want {
		if math.Abs(figures[name]-value) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, figures[name], value)
		}
	}
	if len(figures) != len(want) {
		t.Errorf("got %v, want the names of %v", figures, want)
	}
}

func TestRequestsHaveIDsOfTheirOwn(t *testing.T) {
	id := 98
	r := call("GPIO17").next(&id)
	const want = `{"jsonrpc":"2.0","id":1000099,"method":"tools/call","params":{"name":"gpio_read","arguments":{"lines":["GPIO17"]}}}` + "\n"
	if string(r) != want || id != 99 {
		t.Errorf("got %s, id %d", r, id)
	}
	if r.next(&id); string(r[idAt:idAt+idLen]) != "1000100" {
		t.Errorf("got %s", r)
	}
}

func TestTimesAreNotJudgedByAMachineThatSwitchesQuickly(t *testing.T) {
	budgets := []budget{{"peers.p50_ratio_c", true, 1}, {"peers.cpu_ratio_c.socket", true, 1}, {"peers.pipelined_ratio_c", false, 1}, {"peers.cpu_ratio_gosdk", true, 1}}
	for _, x := range []struct {
		pipe, socket float64
		cannot       []string
	}{
		{13, 8, nil},
		{7.9, 9, []string{"peers.p50_ratio_c"}},
		{3, 6, []string{"peers.p50_ratio_c", "peers.cpu_ratio_c.socket"}},
	} {
		can, cannot := judged(budgets, map[string]float64{"peers.floor_p50_us": x.pipe, "peers.floor_p50_us.socket": x.socket})
		if !slices.Equal(cannot, x.cannot) || len(can)+len(cannot) != len(budgets) {
			t.Errorf("%v: not judged are %q, want %q", x, cannot, x.cannot)
		}
	}
	if can, _ := judged(budgets, nil); len(can) != len(budgets) {
		t.Errorf("without a floor only %v are judged", can)
	}
}
