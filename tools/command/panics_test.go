//go:build linux

package command

import (
	"fmt"
	"os"

	"boardhand/device"
	"boardhand/tools/cli"
)

// ServePanicking is "serve --board sim" on a board whose I2C buses, and whose line GPIO26,
// panic when they are used. The tests run it as a process of its own.
func ServePanicking(config string) int {
	f, err := cli.ParseFlags("serve", []string{"--board", "sim", "--config", config})
	if err != nil {
		return cli.Fail(os.Stderr, cli.ExitUsage, err.Error())
	}
	file, err := readConfig(config)
	if err != nil {
		return cli.Fail(os.Stderr, cli.ExitUsage, err.Error())
	}
	beneath, err := pick("sim", file.Sim)
	if err != nil {
		return cli.Fail(os.Stderr, cli.ExitUsage, err.Error())
	}
	stop, watching := watchSignals()
	s, err := openOn(panicking{beneath}, file, f, true, os.Stderr)
	if err != nil {
		return cli.Fail(os.Stderr, cli.ExitUsage, err.Error())
	}
	<-watching
	s.closeOnSignal(stop, os.Stderr)
	return s.serve(os.Stderr)
}

type panicking struct{ device.Board }

func (b panicking) I2C() device.I2C   { return panickingI2C{b.Board.I2C()} }
func (b panicking) GPIO() device.GPIO { return panickingGPIO{b.Board.GPIO()} }

type panickingI2C struct{ device.I2C }

func (panickingI2C) Transfer(bus int, addr uint16, write, read []byte) error {
	panic(fmt.Sprintf("i2c-%d fails inside", bus))
}

type panickingGPIO struct{ device.GPIO }

func (g panickingGPIO) Read(names []string, levels []device.Level) error {
	for _, name := range names {
		if name == "GPIO26" {
			panic("a read fails inside")
		}
	}
	return g.GPIO.Read(names, levels)
}
