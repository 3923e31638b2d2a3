package cli

import (
	"strings"

	"github.com/valyala/fastjson"
)

// appendResult shows a tool's result to a person: its facts as lines of name and
// value, then each array of objects as a table. A table has a title where there
// are several.
func appendResult(dst []byte, v *fastjson.Value) []byte {
	var facts [][]string
	var tables []table
	flatten("", v, func(name string, v *fastjson.Value) {
		if isTable(v) {
			tables = append(tables, table{name, v.GetArray()})
			return
		}
		facts = append(facts, []string{name, text(v)})
	})
	dst = appendColumns(dst, facts)
	for _, t := range tables {
		if len(dst) > 0 {
			dst = append(dst, '\n')
		}
		if len(tables) > 1 {
			dst = append(append(dst, t.name...), ":\n"...)
		}
		dst = appendColumns(dst, t.rows())
	}
	return dst
}

// table is an array of objects in a result.
type table struct {
	name  string
	items []*fastjson.Value
}

// rows are the header, then one row for each item. The columns stand in the order
// in which they first appear; "-" marks what an item lacks.
func (t *table) rows() [][]string {
	rows := [][]string{nil}
	column := map[string]int{}
	for _, item := range t.items {
		var row []string
		flatten("", item, func(name string, v *fastjson.Value) {
			i, ok := column[name]
			if !ok {
				i = len(column)
				column[name] = i
				rows[0] = append(rows[0], strings.ToUpper(name))
			}
			for len(row) <= i {
				row = append(row, "-")
			}
			row[i] = text(v)
		})
		rows = append(rows, row)
	}
	for i := range rows {
		for len(rows[i]) < len(column) {
			rows[i] = append(rows[i], "-")
		}
	}
	return rows
}

// flatten visits the members of an object, those of objects in it under
// "outer.inner".
func flatten(prefix string, v *fastjson.Value, visit func(name string, v *fastjson.Value)) {
	o, err := v.Object()
	if err != nil {
		return
	}
	o.Visit(func(key []byte, v *fastjson.Value) {
		name := prefix + printable(string(key))
		if v.Type() == fastjson.TypeObject {
			flatten(name+".", v, visit)
			return
		}
		visit(name, v)
	})
}

func isTable(v *fastjson.Value) bool {
	items := v.GetArray()
	for _, item := range items {
		if item.Type() != fastjson.TypeObject {
			return false
		}
	}
	return len(items) > 0
}

// text shows one value in a line or a cell.
func text(v *fastjson.Value) string {
	switch v.Type() {
	case fastjson.TypeTrue:
		return "yes"
	case fastjson.TypeFalse:
		return "no"
	case fastjson.TypeNull:
		return "-"
	case fastjson.TypeString:
		if s := v.GetStringBytes(); len(s) > 0 {
			return printable(string(s))
		}
		return `""`
	case fastjson.TypeArray:
		items := v.GetArray()
		if len(items) == 0 {
			return "none"
		}
		parts := make([]string, len(items))
		for i, item := range items {
			parts[i] = text(item)
		}
		return strings.Join(parts, ", ")
	}
	return printable(string(v.MarshalTo(nil)))
}
