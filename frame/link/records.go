package link

//go:generate go run github.com/tinylib/msgp@v1.6.5 -unexported -io=false -tests=false -file records.go

//msgp:limit arrays:1024 maps:16 marshal:false
//msgp:tuple hello answer reset logLine

// hello is what the host says of itself.
type hello struct {
	Codec   uint8  // that it speaks, codec.ID; 0 speaks none
	Epoch   uint32 // the host's part of the session
	Max     uint32 // bytes of a message it takes
	Window  uint32 // bytes of packets it keeps
	Baud    uint32 // 0 where the line has none
	Offers  bool   // it knows tails by hash
	Program string
}

// answer is the board's to a hello.
type answer struct {
	Codec   uint8  // the session's: the hello's, or 0
	Host    uint32 // the epoch of the hello this answers
	Epoch   uint32 // the board's part of the session
	Max     uint32
	Window  uint32
	Program string
	Name    string
}

// reset says that the board has no session, and the epoch of its next.
type reset struct {
	Epoch uint32
}

// logLine is a line of the board's log.
type logLine struct {
	Dropped uint32 // lines before it that found the queue full
	Line    []byte
}
