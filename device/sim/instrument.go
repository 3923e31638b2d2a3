package sim

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"
)

// instrument is a thermometer that speaks SCPI over a serial line: commands end
// with LF or CR LF, answers with CR LF, at 115200 8N1. It says nothing to a
// command that it does not know, but keeps the error for SYST:ERR?. When DTR
// rises it starts anew and says so.
//
//	*IDN?        SIM,TH-1,0042,1.0
//	*RST         (nothing)
//	MEAS:TEMP?   21.37
//	MEAS:HUM?    44.8
//	UNIT F       (nothing; C or F)
//	UNIT?        F
//	SYST:ERR?    0,"No error"
type instrument struct {
	env        func(time.Time) surroundings
	line       []byte // what has come of a command
	fahrenheit bool
	fault      string
}

// maxCommand is the longest command.
const maxCommand = 64

const (
	noError         = `0,"No error"`
	undefinedHeader = `-113,"Undefined header"`
	illegalValue    = `-224,"Illegal parameter value"`
	overrun         = `-363,"Input buffer overrun"`
)

func (i *instrument) start(time.Time) []byte {
	*i = instrument{env: i.env, fault: noError}
	return []byte("TH-1 1.0 ready\r\n")
}

func (i *instrument) hear(now time.Time, p []byte) []byte {
	var answer []byte
	for len(p) > 0 {
		part, rest, ended := bytes.Cut(p, []byte{'\n'})
		p = rest
		i.line = append(i.line, part[:min(len(part), maxCommand+2-len(i.line))]...)
		if !ended {
			break
		}
		command := strings.ToUpper(strings.TrimSpace(string(i.line)))
		if len(i.line) > maxCommand+1 {
			i.fault = overrun
		} else if command != "" {
			answer = append(answer, i.do(now, command)...)
		}
		i.line = i.line[:0]
	}
	return answer
}

// do gives the answer to a command, with its line end, or "".
func (i *instrument) do(now time.Time, command string) string {
	air := i.env(now)
	switch command {
	case "*IDN?":
		return "SIM,TH-1,0042,1.0\r\n"
	case "*RST":
		i.fahrenheit, i.fault = false, noError
	case "MEAS:TEMP?":
		degrees := air.celsius
		if i.fahrenheit {
			degrees = degrees*1.8 + 32
		}
		return fmt.Sprintf("%.2f\r\n", math.Round(degrees*100)/100)
	case "MEAS:HUM?":
		return fmt.Sprintf("%.1f\r\n", air.percent)
	case "UNIT?":
		if i.fahrenheit {
			return "F\r\n"
		}
		return "C\r\n"
	case "UNIT C", "UNIT F":
		i.fahrenheit = command == "UNIT F"
	case "SYST:ERR?":
		fault := i.fault
		i.fault = noError
		return fault + "\r\n"
	default:
		i.fault = undefinedHeader
		if strings.HasPrefix(command, "UNIT ") {
			i.fault = illegalValue
		}
	}
	return ""
}
