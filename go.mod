module boardhand

go 1.26.0

require (
	github.com/BurntSushi/toml v1.6.0
	github.com/tinylib/msgp v1.6.5
	github.com/valyala/fastjson v1.6.10
	go.bug.st/serial v1.8.0
	golang.org/x/sys v0.50.0
)

require github.com/philhofer/fwd v1.2.0 // indirect
