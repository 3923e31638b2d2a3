package gate

import (
	"fmt"
	"slices"
	"strings"

	"boardhand/device/policy"
	"boardhand/rpc"
)

// family is what works on the things of some tables of the file.
type family struct {
	tools    string   // what the names of its tools begin with
	tables   []string // one of which must open something
	template string   // the begin of its resources, or empty
	prompt   string   // or empty
}

var families = []family{
	{tools: "gpio_", tables: []string{"line"}, template: "gpio://", prompt: "check_wiring"},
	{tools: "i2c_", tables: []string{"i2c"}, prompt: "find_i2c_device"},
	{tools: "spi_", tables: []string{"spi"}},
	{tools: "sensor_", tables: []string{"sensor"}, template: "sensor://"},
	{tools: "uart_", tables: []string{"uart", "modbus"}},
	{tools: "modbus_", tables: []string{"modbus", "uart"}},
	{tools: "can_", tables: []string{"can"}},
	{tools: "pwm_", tables: []string{"pwm"}},
	{tools: "led_", tables: []string{"led"}},
	{tools: "system_", tables: []string{"system"}},
}

// changing are the tools that do nothing with what may only be read.
var changing = []string{"gpio_write", "gpio_configure", "gpio_pulse", "i2c_write", "uart_control", "modbus_write", "can_send", "pwm_set", "led_set"}

// closeFamilies closes what works on things of which the file opens none. Of that the
// wrapped board shows nothing, so the catalogue lacks it: what is put there says why.
// known are the names of all tools that there could be.
func closeFamilies(cat *rpc.Catalogue, r *policy.Rules, known []string) {
	for _, f := range families {
		most := policy.AccessNone
		for _, table := range f.tables {
			most = max(most, r.Opens(table))
		}
		why := func(what, name, lacks string) string {
			return fmt.Sprintf("%s: %s %q is closed, for no %s %s; ask the owner of the file", r.File, what, name, tables(f.tables), lacks)
		}
		for _, name := range known {
			switch {
			case !strings.HasPrefix(name, f.tools):
			case most <= policy.AccessNone:
				closeTool(cat, name, why("tool", name, "opens anything for it"))
			case most < policy.AccessWrite && slices.Contains(changing, name):
				closeTool(cat, name, why("tool", name, `has access = "write"`))
			}
		}
		if most > policy.AccessNone {
			continue
		}
		if f.template != "" {
			cat.Templates = append(cat.Templates, rpc.Template{Prefix: f.template, Closed: why("resource", f.template, "opens anything for it")})
		}
		if f.prompt != "" {
			cat.Prompts = append(cat.Prompts, rpc.Prompt{Name: f.prompt, Closed: why("prompt", f.prompt, "opens anything for it")})
		}
	}
}

// closeTool closes a tool that the catalogue has, or may lack.
func closeTool(cat *rpc.Catalogue, name, why string) {
	i := slices.IndexFunc(cat.Tools, func(t rpc.Tool) bool { return t.Name == name })
	if i < 0 {
		i = len(cat.Tools)
		cat.Tools = append(cat.Tools, rpc.Tool{Name: name})
	}
	cat.Tools[i].Closed = why
}

// tables are the names of tables as they stand in the file: "[[modbus]] or [[uart]]".
func tables(names []string) string {
	var all []string
	for _, name := range names {
		if name == "system" { // which there is one of
			all = append(all, "[system]")
			continue
		}
		all = append(all, "[["+name+"]]")
	}
	return strings.Join(all, " or ")
}
