package tools

import (
	"errors"
	"strconv"
	"strings"

	"boardhand/device"
	"boardhand/rpc"
)

// listedName is argument 0 as a family of the board lists it.
func listedName(family any, c *rpc.Call) (string, error) {
	if f, ok := family.(device.Finder); ok && c.Has(0) {
		return f.Find(c.Str(0))
	}
	return c.Str(0), nil
}

// notChosen says why argument 0, called param, chooses nothing of a kind: it was not
// given where there is not just one, or the subject that it names is none of them.
// names describes all there are.
func notChosen(c *rpc.Call, param, kind, subject string, names []string) error {
	have := "the board has no " + kind + " any more"
	if len(names) > 0 {
		have = "the board has " + strings.Join(names, ", ")
	}
	if !c.Has(0) {
		return errors.New(`parameter "` + param + `" is missing; ` + have)
	}
	return &device.Error{Subject: subject, Kind: device.ErrNotFound, Hint: have}
}

// maxDescribed bounds a list of what a board has, in an answer or an error.
const maxDescribed = 16

// described describes the first most of all, and says how many more there are.
func described[T any](all []T, most int, describe func(T) string) []string {
	var list []string
	for i, x := range all {
		if i == most {
			return append(list, "and "+strconv.Itoa(len(all)-i)+" more")
		}
		list = append(list, describe(x))
	}
	return list
}
