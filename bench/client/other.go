//go:build !unix

package client

import (
	"errors"
	"os"
)

func socketPair() (child, ours *os.File, err error) {
	return nil, nil, errors.New("this system has no UNIX socket pairs")
}

func setNonblock(*os.File) error {
	return errors.New("this system has no O_NONBLOCK")
}
