package cli

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// appendColumns appends rows, which are all as long as the first, in columns two
// blanks apart. Lines have no blanks at their end.
func appendColumns(dst []byte, rows [][]string) []byte {
	var widths []int
	for _, row := range rows {
		for len(widths) < len(row) {
			widths = append(widths, 0)
		}
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		pad := 0
		for i, cell := range row {
			if cell != "" {
				dst = appendBlanks(dst, pad)
				dst = append(dst, cell...)
				pad = 0
			}
			pad += widths[i] + 2
			if cell != "" {
				pad -= utf8.RuneCountInString(cell)
			}
		}
		dst = append(dst, '\n')
	}
	return dst
}

func appendBlanks(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, ' ')
	}
	return dst
}

// printable shows what would move a terminal's cursor, change its colours or
// break a line as an escape: names and texts can come from a device.
func printable(s string) string {
	for i, r := range s {
		if strconv.IsPrint(r) {
			continue
		}
		out := []byte(s[:i])
		for _, r := range s[i:] {
			if strconv.IsPrint(r) {
				out = utf8.AppendRune(out, r)
				continue
			}
			quoted := strconv.QuoteRune(r)
			out = append(out, quoted[1:len(quoted)-1]...)
		}
		return string(out)
	}
	return s
}

// appendWrapped appends text in lines of at most width columns, broken at blanks.
func appendWrapped(dst []byte, text string, width int) []byte {
	column := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case column == 0:
		case column+1+n > width:
			dst = append(dst, '\n')
			column = 0
		default:
			dst = append(dst, ' ')
			column++
		}
		dst = append(dst, word...)
		column += n
	}
	return append(dst, '\n')
}
