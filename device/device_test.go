package device_test

import (
	"errors"
	"fmt"
	"testing"

	"boardhand/device"
)

func ExampleError() {
	for _, err := range []error{
		&device.Error{Subject: `line "GPIO99"`, Kind: device.ErrNotFound, Hint: "gpio_list shows 54 lines"},
		&device.Error{Subject: "i2c-1 address 0x50", Kind: device.ErrNoAck, Reason: "no acknowledge (EREMOTEIO)",
			Hint: "check the wiring and the address with i2c_scan"},
		&device.Error{Subject: "i2c-1", Kind: device.ErrCancelled},
	} {
		fmt.Println(err)
	}
	// Output:
	// line "GPIO99" not found; gpio_list shows 54 lines
	// i2c-1 address 0x50: no acknowledge (EREMOTEIO); check the wiring and the address with i2c_scan
	// i2c-1: cancelled
}

func TestAnErrorIsItsKind(t *testing.T) {
	kinds := []error{device.ErrNotFound, device.ErrBusy, device.ErrPermission, device.ErrNoAck, device.ErrTimeout,
		device.ErrCancelled, device.ErrUnplugged, device.ErrNotSupport}
	for _, kind := range kinds {
		err := fmt.Errorf("call: %w", &device.Error{Subject: "x", Kind: kind})
		for _, other := range kinds {
			if errors.Is(err, other) != (kind == other) {
				t.Errorf("%v is %v: %v", err, other, kind != other)
			}
		}
	}
}

func TestEveryQuantityHasItsNameAndUnit(t *testing.T) {
	seen := map[string]bool{}
	for q := device.Temperature; q <= device.Code; q++ {
		if name := q.String(); name == "" || q.Unit() == "" || seen[name] {
			t.Errorf("quantity %d is %q in %q", q, name, q.Unit())
		}
		seen[q.String()] = true
	}
}
