package wire

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTmpSuite(t *testing.T) {
	fs, _ := filepath.Glob("/tmp/jts/test_parsing/*.json")
	n := map[byte]int{}
	for _, f := range fs {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		err = Scan(b, DefaultLimits)
		n[name[0]]++
		switch name[0] {
		case 'y':
			if err != nil {
				t.Error(name, err)
			}
		case 'n':
			if err == nil {
				t.Error(name)
			}
		default:
			t.Log(name, err)
		}
	}
	t.Log(n)
}
