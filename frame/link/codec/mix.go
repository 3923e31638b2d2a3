package codec

// Probabilities are 12 bits wide: n stands for n/4096, n from 1 to 4095. Where
// several are mixed they are in the logistic domain, ln(p/(1-p)) in 256ths, from
// -2047 to 2047.

// logistic is 4096/(1+exp(-x)) for x = -8, -7.5 ... 8.
var logistic = [33]int32{1, 2, 4, 6, 10, 17, 27, 45, 74, 120, 194, 311, 488, 747, 1102, 1546, 2048,
	2550, 2994, 3349, 3608, 3785, 3902, 3976, 4022, 4051, 4069, 4079, 4086, 4090, 4092, 4094, 4095}

// squash gives the probability for x, on straight lines between logistic's points.
func squash(x int32) int32 {
	x = min(max(x, -2047), 2047) + 2048
	i, part := x>>7, x&127
	return (logistic[i]*(128-part) + logistic[i+1]*part + 64) >> 7
}

// stretch is squash turned round: the least x from -2047 whose probability is at
// least p, and 2047 where there is none.
var stretch = func() (table [4096]int16) {
	p := int32(0)
	for x := int32(-2047); x <= 2047; x++ {
		for ; p <= squash(x); p++ {
			table[p] = int16(x)
		}
	}
	for ; p < 4096; p++ {
		table[p] = 2047
	}
	return table
}()

// A guess is the probability of a bit being 1, as learnt: 12 bits of probability
// over 4 bits that count the lessons.
type guess uint16

const (
	noGuess guess = 2048 << 4
	lessons       = 13 // where the count ends, so that a guess goes on learning
)

// rates are the parts, in 65536ths, of its error that a guess mends, by its count.
var rates = func() (table [lessons + 1]int32) {
	for i := range table {
		table[i] = int32(655360 / (10*i + 16))
	}
	return table
}()

func (g *guess) learn(bit uint32) {
	p, count := int32(*g>>4), *g&15
	p += (int32(bit)*4095 - p) * rates[count] >> 16
	if count < lessons {
		count++
	}
	*g = guess(p)<<4 | count
}

// A mixer weighs three guesses, in 65536ths.
type mixer [3]int32

// mixed codes a bit by three guesses, weighed by w, and teaches all four.
func (c *coder) mixed(a, b, d *guess, w *mixer, bit uint32) uint32 {
	x, y, z := int32(stretch[*a>>4]), int32(stretch[*b>>4]), int32(stretch[*d>>4])
	p := squash((x*(w[0]>>2) + y*(w[1]>>2) + z*(w[2]>>2)) >> 14)
	bit = c.bit(uint32(p), bit)
	miss := int32(bit)<<12 - p
	w[0] += (x*miss + 512) >> 10
	w[1] += (y*miss + 512) >> 10
	w[2] += (z*miss + 512) >> 10
	a.learn(bit)
	b.learn(bit)
	d.learn(bit)
	return bit
}

// plainly codes a bit by one guess, and teaches it.
func (c *coder) plainly(g *guess, bit uint32) uint32 {
	bit = c.bit(min(max(uint32(*g>>4), 1), 4095), bit)
	g.learn(bit)
	return bit
}
