package rpc

import "boardhand/rpc/wire"

// appendInputSchema renders a parameter table as JSON Schema 2020-12. Unknown
// arguments are refused, so that a misspelt one is an error and not a default; the
// schema says so only where there are no parameters, as MCP advises, for a list
// that says it of every tool is a tenth longer.
func appendInputSchema(dst []byte, params []Param) []byte {
	if len(params) == 0 {
		return append(dst, `{"type":"object","additionalProperties":false}`...)
	}
	dst = append(dst, `{"type":"object","properties":{`...)
	for i := range params {
		dst = appendParamSchema(wire.AppendKey(dst, params[i].Name), &params[i])
	}
	dst = append(dst, '}')
	required := false
	for i := range params {
		if !params[i].Required {
			continue
		}
		if !required {
			dst = append(dst, `,"required":[`...)
			required = true
		}
		dst = wire.AppendString(wire.AppendSep(dst), params[i].Name)
	}
	if required {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func appendParamSchema(dst []byte, p *Param) []byte {
	bounds := func(dst []byte, low, high string) []byte {
		if p.Min == 0 && p.Max == 0 {
			return dst
		}
		dst = wire.AppendInt(wire.AppendKey(dst, low), p.Min)
		return wire.AppendInt(wire.AppendKey(dst, high), p.Max)
	}
	switch p.Type {
	case Strings:
		dst = append(dst, `{"type":"array","items":{"type":"string"}`...)
		dst = wire.AppendInt(wire.AppendKey(dst, "maxItems"), int64(p.maxItems()))
	case Integer:
		dst = bounds(append(dst, `{"type":"integer"`...), "minimum", "maximum")
	case Number:
		dst = bounds(append(dst, `{"type":"number"`...), "minimum", "maximum")
	case Boolean:
		dst = append(dst, `{"type":"boolean"`...)
	default: // String; Hex and Bytes have bounds that a string's length does not tell
		dst = append(dst, `{"type":"string"`...)
		if len(p.Choices) > 0 {
			dst = append(wire.AppendKey(dst, "enum"), '[')
			for _, c := range p.Choices {
				dst = wire.AppendString(wire.AppendSep(dst), c)
			}
			dst = append(dst, ']')
		}
	}
	if p.Description != "" {
		dst = wire.AppendString(wire.AppendKey(dst, "description"), p.Description)
	}
	if p.Header != "" {
		dst = wire.AppendString(wire.AppendKey(dst, "x-mcp-header"), p.Header)
	}
	return append(dst, '}')
}

func (p *Param) maxItems() int {
	if p.MaxItems == 0 {
		return 64
	}
	return p.MaxItems
}

// appendOutputSchema renders a result table as JSON Schema 2020-12.
func appendOutputSchema(dst []byte, fields []Field) []byte {
	dst = append(dst, `{"type":"object","properties":{`...)
	for i := range fields {
		f := &fields[i]
		dst = wire.AppendKey(dst, f.Name)
		switch f.Type {
		case Object:
			dst = appendOutputSchema(dst, f.Fields)
		case Objects:
			dst = append(dst, `{"type":"array","items":`...)
			dst = append(appendOutputSchema(dst, f.Fields), '}')
		case Strings:
			dst = append(dst, `{"type":"array","items":{"type":"string"}}`...)
		default:
			dst = append(dst, `{"type":"`...)
			dst = append(append(dst, f.Type.json()...), '"')
			if f.Description != "" {
				dst = wire.AppendString(wire.AppendKey(dst, "description"), f.Description)
			}
			dst = append(dst, '}')
		}
	}
	dst = append(dst, '}')
	required := false
	for i := range fields {
		if fields[i].Optional {
			continue
		}
		if !required {
			dst = append(dst, `,"required":[`...)
			required = true
		}
		dst = wire.AppendString(wire.AppendSep(dst), fields[i].Name)
	}
	if required {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// json is the type's name in JSON Schema.
func (t Type) json() string {
	switch t {
	case Integer:
		return "integer"
	case Number:
		return "number"
	case Boolean:
		return "boolean"
	case Strings, Objects:
		return "array"
	case Object:
		return "object"
	}
	return "string"
}
