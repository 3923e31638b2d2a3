package sim

import (
	"encoding/binary"
	"sort"
	"time"
)

// bme280 is Bosch's environmental sensor at its registers. Sections are those of
// the data sheet BST-BME280-DS002. After power-on and a reset it sleeps, and the
// data registers hold the values of a skipped measurement, until ctrl_meas sets
// a mode. The filter and the coarser steps of low oversampling are left out.
type bme280 struct {
	env     func(time.Time) surroundings
	pointer byte
	// ctrl_hum counts only from the next write of ctrl_meas on (5.4.3).
	ctrlHum, humInUse byte
	ctrlMeas, config  byte
	measured          [8]byte // 0xF7 to 0xFE, as of the last measurement
	ready             time.Time
	pending           bool // a forced measurement that ends at ready
}

// surroundings are what there is to measure.
type surroundings struct {
	celsius, pascal, percent float64
}

// Registers (5.3).
const (
	bmeCalib0   = 0x88 // to 0xA1
	bmeID       = 0xd0
	bmeReset    = 0xe0
	bmeCalib1   = 0xe1 // to 0xE7
	bmeCtrlHum  = 0xf2
	bmeStatus   = 0xf3
	bmeCtrlMeas = 0xf4
	bmeConfig   = 0xf5
	bmeData     = 0xf7 // to 0xFE

	bmeChipID    = 0x60
	bmeResetWord = 0xb6

	bmeSleep, bmeNormal = 0, 3 // 1 and 2 are forced
	bmeMeasuring        = 1 << 3
)

// What the data registers hold where a measurement is skipped (5.4.7 to 5.4.9),
// and where their numbers end.
const (
	skipped20 = 0x80000
	skipped16 = 0x8000
	end20     = 1 << 20
	end16     = 1 << 16
)

// finePerCelsius is how many steps of t_fine, the temperature that pressure and
// humidity lean on, make a degree (4.2.3).
const finePerCelsius = 5120

// Trimming parameters (4.2.2) of one imaginary device.
const (
	digT1, digT2, digT3 = 28148, 26551, 50
	digP1, digP2, digP3 = 36871, -10562, 3024
	digP4, digP5, digP6 = 6714, 83, -7
	digP7, digP8, digP9 = 9900, -10230, 4285
	digH1, digH2, digH3 = 75, 364, 0
	digH4, digH5, digH6 = 312, 50, 30
)

func newBME280(env func(time.Time) surroundings) *bme280 {
	b := &bme280{env: env}
	b.reset()
	return b
}

func (b *bme280) reset() {
	env := b.env
	*b = bme280{env: env}
	b.latch(skipped20, skipped20, skipped16)
}

// transact takes pairs of register and value, of which a lone last one sets the
// pointer (6.2.1), and reads on from there (6.2.2).
func (b *bme280) transact(now time.Time, write, read []byte) bool {
	b.advance(now)
	for len(write) >= 2 {
		b.set(now, write[0], write[1])
		b.pointer = write[0]
		write = write[2:]
	}
	if len(write) == 1 {
		b.pointer = write[0]
	}
	for i := range read {
		read[i] = b.get(now, b.pointer)
		b.pointer++
	}
	return true
}

// advance brings the data registers up to now. They are shadowed for the length
// of a burst (4), so it is done once for each transaction.
func (b *bme280) advance(now time.Time) {
	switch {
	case b.ctrlMeas&3 == bmeNormal && !now.Before(b.ready):
		b.measure(now)
	case b.pending && !now.Before(b.ready):
		b.measure(b.ready)
		b.pending = false
		b.ctrlMeas &^= 3
	}
}

func (b *bme280) set(now time.Time, reg, value byte) {
	switch reg {
	case bmeReset:
		if value == bmeResetWord {
			b.reset()
		}
	case bmeCtrlHum:
		b.ctrlHum = value & 7
	case bmeConfig:
		b.config = value &^ 2 // bit 1 is not there
	case bmeCtrlMeas:
		b.ctrlMeas, b.humInUse = value, b.ctrlHum
		b.ready = now.Add(b.duration())
		b.pending = value&3 != bmeSleep && value&3 != bmeNormal
	}
}

func (b *bme280) get(now time.Time, reg byte) byte {
	switch {
	case reg >= bmeCalib0 && int(reg-bmeCalib0) < len(bmeTrim0):
		return bmeTrim0[reg-bmeCalib0]
	case reg >= bmeCalib1 && int(reg-bmeCalib1) < len(bmeTrim1):
		return bmeTrim1[reg-bmeCalib1]
	case reg >= bmeData && int(reg-bmeData) < len(b.measured):
		return b.measured[reg-bmeData]
	}
	switch reg {
	case bmeID:
		return bmeChipID
	case bmeCtrlHum:
		return b.ctrlHum
	case bmeStatus:
		if b.pending && now.Before(b.ready) {
			return bmeMeasuring
		}
	case bmeCtrlMeas:
		return b.ctrlMeas
	case bmeConfig:
		return b.config
	}
	return 0
}

// duration is the longest that one measurement takes (9.1).
func (b *bme280) duration() time.Duration {
	d := 1250 * time.Microsecond
	for _, m := range [...]struct {
		setting byte
		settle  time.Duration
	}{
		{b.ctrlMeas >> 5, 0},
		{b.ctrlMeas >> 2 & 7, 575 * time.Microsecond},
		{b.humInUse, 575 * time.Microsecond},
	} {
		if n := samples(m.setting); n > 0 {
			d += time.Duration(n)*2300*time.Microsecond + m.settle
		}
	}
	return d
}

// samples is the oversampling that a setting of 3 bits asks for (5.4.3, 5.4.5).
func samples(setting byte) int {
	if setting == 0 {
		return 0
	}
	return 1 << min(setting-1, 4)
}

// measure sets the data registers to what the compensation formulas (4.2.3) turn
// into the surroundings at t.
func (b *bme280) measure(t time.Time) {
	at := b.env(t)
	fine := at.celsius * finePerCelsius
	var temp, press, hum uint32 = skipped20, skipped20, skipped16
	if b.ctrlMeas>>5 != 0 {
		temp = firstAdc(end20, func(adc float64) bool { return fineOf(adc) >= fine })
	}
	if b.ctrlMeas>>2&7 != 0 {
		press = firstAdc(end20, func(adc float64) bool { return pascalOf(adc, fine) <= at.pascal })
	}
	if b.humInUse != 0 {
		hum = firstAdc(end16, func(adc float64) bool { return percentOf(adc, fine) >= at.percent })
	}
	b.latch(press, temp, hum)
}

// firstAdc is the first conversion result below end from which on is true.
func firstAdc(end int, is func(adc float64) bool) uint32 {
	return uint32(min(sort.Search(end, func(i int) bool { return is(float64(i)) }), end-1))
}

// latch lays out 20, 20 and 16 bits (5.4.7 to 5.4.9).
func (b *bme280) latch(press, temp, hum uint32) {
	m := binary.BigEndian.AppendUint32(b.measured[:0], press<<12)[:3]
	m = binary.BigEndian.AppendUint32(m, temp<<12)[:6]
	binary.BigEndian.AppendUint16(m, uint16(hum))
}

// The compensation formulas in floating point. Temperature is the polynomial of
// the distance to its reference; pressure and humidity lean on it through fine.

func fineOf(adc float64) float64 {
	d := adc/16384 - digT1/1024.0
	return digT2*d + digT3*d*d/64
}

func pascalOf(adc, fine float64) float64 {
	d := fine/2 - 64000
	offset := (digP6*d*d/32768+digP5*2*d)/4 + digP4*65536
	slope := (1 + (digP3*d*d/524288+digP2*d)/524288/32768) * digP1
	p := (end20 - adc - offset/4096) * 6250 / slope
	return p + (digP9*p*p/(1<<31)+digP8*p/32768+digP7)/16
}

func percentOf(adc, fine float64) float64 {
	d := fine - 76800
	scale := digH2 / 65536.0 * (1 + digH6*d/(1<<26)*(1+digH3*d/(1<<26)))
	h := (adc - (digH4*64 + digH5*d/16384)) * scale
	return h * (1 - digH1*h/524288)
}

// bmeTrim0 and bmeTrim1 are the trimming parameters as they lie in the registers
// (4.2.2, table 16).
var bmeTrim0, bmeTrim1 = func() (low [26]byte, high [7]byte) {
	b := low[:0]
	for _, v := range [...]int{digT1, digT2, digT3, digP1, digP2, digP3, digP4, digP5, digP6, digP7, digP8, digP9} {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	low[25] = digH1 // 0xA0 is not used

	b = binary.LittleEndian.AppendUint16(high[:0], digH2)
	// H4 and H5 have 12 bits and share the byte at 0xE5.
	_ = append(b, digH3, digH4>>4, digH4&0xf|digH5&0xf<<4, digH5>>4, digH6)
	return low, high
}()
