package boardfile

import (
	"bytes"
	"strconv"
	"strings"
)

// places is where everything stands: by its path, as "line[2].max_on", the line
// of the text. The decoder tells the place of a syntax error alone.
type places map[string]int

// placesOf finds the places in text, which nests no deeper than checkDepth allows.
// Where text is no TOML they mean nothing.
func placesOf(text []byte) places {
	s := placing{text: text, line: 1, found: make(places), tables: make(map[string]int)}
	table := ""
	for s.blanks(true); s.i < len(s.text); s.blanks(true) {
		if s.text[s.i] == '[' {
			table = s.header()
			continue
		}
		s.pair(table)
	}
	return s.found
}

// placing is a walk over a text.
type placing struct {
	text   []byte
	i      int
	line   int
	found  places
	tables map[string]int // how many tables each array of tables has so far
}

// at is the next byte, or 0.
func (s *placing) at() byte {
	if s.i < len(s.text) {
		return s.text[s.i]
	}
	return 0
}

// skip passes over n bytes.
func (s *placing) skip(n int) {
	n = min(n, len(s.text)-s.i)
	s.line += bytes.Count(s.text[s.i:s.i+n], []byte{'\n'})
	s.i += n
}

// blanks passes over blanks, and over line ends and comments where lines is true.
func (s *placing) blanks(lines bool) {
	for s.i < len(s.text) {
		switch c := s.text[s.i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' && lines:
			s.skip(1)
		case c == '#' && lines:
			comment, _, _ := bytes.Cut(s.text[s.i:], []byte{'\n'})
			s.skip(len(comment))
		default:
			return
		}
	}
}

func (s *placing) note(path string) {
	if _, ok := s.found[path]; !ok {
		s.found[path] = s.line
	}
}

// header reads [a.b] or [[a.b]], and gives the path of its table.
func (s *placing) header() string {
	s.skip(1)
	array := s.at() == '['
	if array {
		s.skip(1)
	}
	keys := s.keys()
	path := ""
	for i, key := range keys {
		path = join(path, key)
		s.note(path)
		switch n, isArray := s.tables[path]; {
		case array && i == len(keys)-1:
			s.tables[path] = n + 1
			path = element(path, n)
		case isArray:
			path = element(path, n-1)
		}
	}
	s.note(path)
	for s.at() == ']' {
		s.skip(1)
	}
	return path
}

// pair reads key = value in the table at path.
func (s *placing) pair(path string) {
	for _, key := range s.keys() {
		path = join(path, key)
		s.note(path)
	}
	s.blanks(false)
	if s.at() != '=' {
		s.skip(1) // no TOML
		return
	}
	s.skip(1)
	s.value(path)
}

// keys reads the parts of a dotted key.
func (s *placing) keys() []string {
	var all []string
	for {
		s.blanks(false)
		var key string
		if c := s.at(); c == '"' || c == '\'' {
			n := stringLength(s.text[s.i:])
			key = string(s.text[s.i : s.i+n])
			if text, err := strconv.Unquote(key); err == nil && c == '"' {
				key = text
			} else {
				key = strings.Trim(key, `"'`)
			}
			s.skip(n)
		} else {
			n := bytes.IndexAny(s.text[s.i:], ".=]}[{,# \t\r\n\"'")
			if n < 0 {
				n = len(s.text) - s.i
			}
			key = string(s.text[s.i : s.i+n])
			s.skip(n)
		}
		all = append(all, key)
		s.blanks(false)
		if s.at() != '.' {
			return all
		}
		s.skip(1)
	}
}

// value passes over the value of what stands at path.
func (s *placing) value(path string) {
	s.blanks(false)
	switch s.at() {
	case '"', '\'':
		s.skip(stringLength(s.text[s.i:]))
	case '[':
		s.skip(1)
		for n := 0; ; n++ {
			s.blanks(true)
			if c := s.at(); c == ']' || c == 0 {
				s.skip(1)
				return
			}
			of := element(path, n)
			s.note(of)
			before := s.i
			s.value(of)
			s.blanks(true)
			if s.at() == ',' || s.i == before {
				s.skip(1)
			}
		}
	case '{':
		s.skip(1)
		for {
			s.blanks(true)
			switch c := s.at(); c {
			case '}', 0:
				s.skip(1)
				return
			case ',':
				s.skip(1)
			default:
				s.pair(path)
			}
		}
	default:
		n := bytes.IndexAny(s.text[s.i:], ",]}#\n")
		if n < 0 {
			n = len(s.text) - s.i
		}
		s.skip(n)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func element(path string, n int) string { return path + "[" + strconv.Itoa(n) + "]" }
