package tools

// Names are those of all tools that some board has.
var Names = []string{
	"board_info",
	"gpio_list", "gpio_read", "gpio_write", "gpio_configure", "gpio_wait", "gpio_pulse",
	"i2c_scan", "i2c_read", "i2c_write", "i2c_transfer",
	"sensor_list", "sensor_read",
	"spi_transfer",
	"pwm_set", "led_set",
	"system_info",
	"can_send", "can_receive",
	"uart_list", "uart_exchange", "uart_read", "uart_control",
	"modbus_read", "modbus_write", "modbus_list",
}
