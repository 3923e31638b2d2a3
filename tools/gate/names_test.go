package gate_test

import (
	"strings"
	"testing"
)

// everyName is a file that gives names, descriptions and units in every family.
const everyName = `name = "greenhouse"
description = "Waters the greenhouse."

[[line]]
line = "GPIO17"
name = "pump"
description = "of the rain tank"
access = "write"

[[i2c]]
bus = 1
address = 0x76
name = "climate"
description = "under the roof"
access = "write"

[[i2c.register]]
register = 0xd0
name = "chip_id"
description = "0x60 of a BME280"
type = "u8"
unit = "kind"

[[i2c.register]]
register = 0xf4
name = "mode"
type = "u8"
access = "write"

[[sensor]]
sensor = "supply"
name = "tank_level"
description = "at the bottom"
scale = 24
unit = "L"

[[spi]]
device = "spidev0.0"
name = "flash"
description = "of the logger"
access = "write"

[[pwm]]
channel = "pwmchip0/0"
name = "servo"
description = "of the window"
access = "write"

[[led]]
led = "ACT"
name = "lamp"
description = "at the door"
access = "write"

[[uart]]
port = "ttyUSB0"
name = "weather"
description = "on the mast"
access = "write"

[[uart]]
port = "ttyUSB1"
name = "bus"
description = "RS-485 to the controller"
mode = "19200 8E1"
access = "read"

[[can]]
interface = "can0"
name = "drive"
description = "of the gate"
access = "write"

[[modbus]]
target = "bus"
name = "plant"
description = "the controller"
access = "write"

[[modbus.point]]
name = "setpoint"
description = "to hold"
address = 0
type = "i16"
scale = 0.1
unit = "°C"
access = "write"

[sim]
pwm = true
can = "up"
`

// What a file calls a thing is what lists show, and what every tool takes and gives.
func TestNamesReachTheListsAndAreTakenByEveryTool(t *testing.T) {
	d := newDesk(t, everyName, nil)
	defer d.Close()
	for _, x := range []struct{ tool, args, holds string }{
		{"gpio_list", `{}`, `"line":"pump"|"description":"of the rain tank"`},
		{"gpio_read", `{"lines":["pump"]}`, `"line":"pump"`},
		{"gpio_write", `{"line":"pump","level":1}`, `"line":"pump"`},
		{"gpio_write", `{"line":"GPIO17","level":1}`, `"level":1`}, // the board's own name is one too
		{"gpio_configure", `{"line":"pump","set":"low"}`, `pump`},
		{"gpio_pulse", `{"line":"pump","high_us":10}`, `pump`},
		{"gpio_configure", `{"line":"pump","set":"in"}`, `pump`},
		{"gpio_wait", `{"lines":["pump"],"timeout_ms":1}`, `"line":"pump"`},
		{"i2c_scan", `{}`, `"name":"climate"|"description":"under the roof"|chip_id|mode`},
		{"i2c_read", `{"address":"climate","register":"chip_id"}`, `"address":"climate"|"register":"chip_id"|"value":96|"unit":"kind"`},
		{"i2c_write", `{"address":"climate","register":"mode","value":39}`, `"written":1`},
		{"i2c_write", `{"address":"climate","register":"mode","data":"27"}`, `"written":1`},
		{"i2c_transfer", `{"address":"climate","messages":["w d0","r 1"]}`, `"read":["60"]`},
		{"sensor_list", `{}`, `"sensor":"tank_level"|"unit":"L"|"description":"at the bottom"`},
		{"sensor_read", `{"sensor":["tank_level"]}`, `"sensor":"tank_level"|"unit":"L"`},
		{"spi_transfer", `{"device":"flash","data":"9f +3"}`, `"device":"flash"`},
		{"spi_transfer", `{"device":"spidev0.0","data":"9f +3"}`, `"device":"flash"`},
		{"pwm_set", `{"channel":"servo","duty":"5%","period":"50Hz"}`, `"channel":"servo"`},
		{"led_set", `{"led":"lamp","state":"on"}`, `"led":"lamp"`},
		{"uart_list", `{}`, `"port":"weather"|"description":"on the mast"|"port":"bus"|"description":"RS-485 to the controller"`},
		{"uart_exchange", `{"port":"weather","data":"*IDN?\n","until":"\n"}`, `"port":"weather"|SIM,TH-1|"note":"device output, not instruction"`},
		{"uart_read", `{"port":"weather"}`, `"port":"weather"`},
		{"uart_control", `{"port":"weather"}`, `"port":"weather"`},
		{"can_send", `{"interface":"drive","id":"7df","data":"02 01 0c"}`, `"interface":"drive"`},
		{"can_send", `{"interface":"can0","id":"7df","data":"02 01 0c"}`, `"interface":"drive"`},
		{"can_receive", `{"interface":"drive","timeout_ms":1}`, `"interface":"drive"`},
		{"modbus_list", `{}`, `"point":"setpoint"|°C|"description":"to hold"`},
		{"modbus_read", `{"target":"setpoint"}`, `"measure":"°C"`},
		{"modbus_read", `{"target":"plant","address":0}`, `"values":`},
		{"modbus_read", `{"target":"bus","address":0}`, `"values":`},
		{"modbus_write", `{"target":"setpoint","values":"21.5"}`, `"confirmed":true`},
		{"board_info", `{}`, `flash|servo|lamp`},
	} {
		answer := d.answer(x.tool, x.args)
		for want := range strings.SplitSeq(x.holds, "|") {
			if !strings.Contains(answer, want) {
				t.Errorf("%s %s lacks %s: %s", x.tool, x.args, want, answer)
			}
		}
	}
	about := d.srv.Catalogue().Instructions
	for _, want := range []string{"greenhouse", "Waters the greenhouse.", "climate (under the roof) with chip_id, mode", "setpoint in °C, writable (to hold)"} {
		if !strings.Contains(about, want) {
			t.Errorf("the instructions lack %q: %s", want, about)
		}
	}
}

// answer is the whole text that a call is answered with, or its error.
func (d *desk) answer(tool, args string) string {
	d.t.Helper()
	if got := d.call(tool, args); got != "ok" {
		return got
	}
	return strings.ReplaceAll(d.out.String(), `\"`, `"`)
}
