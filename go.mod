module boardhand

go 1.26.0

require (
	github.com/BurntSushi/toml v1.6.0
	github.com/valyala/fastjson v1.6.10 // indirect
	golang.org/x/sys v0.50.0 // indirect
)
