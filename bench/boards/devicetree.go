//go:build linux

package main

import (
	"bytes"
	"os/exec"
	"strings"
)

// treeEdit changes a device tree: a property is set to a string, or removed where
// set is empty.
type treeEdit struct{ node, property, set string }

// without removes the properties from each node.
func without(properties []string, nodes ...string) []treeEdit {
	var edits []treeEdit
	for _, n := range nodes {
		for _, p := range properties {
			edits = append(edits, treeEdit{node: n, property: p})
		}
	}
	return edits
}

// editTree changes the compiled device tree at path, and adds nodes in the
// language of the Devicetree Specification.
func editTree(path string, edits []treeEdit, nodes string) error {
	for _, e := range edits {
		c := exec.Command("fdtput", "-t", "s", path, e.node, e.property, e.set)
		if e.set == "" {
			c = exec.Command("fdtput", "-d", path, e.node, e.property)
		}
		if _, err := output(c); err != nil && (e.set != "" || !strings.Contains(err.Error(), "FDT_ERR_NOTFOUND")) {
			return err
		}
	}
	if nodes == "" {
		return nil
	}
	source, err := output(exec.Command("dtc", "-q", "-I", "dtb", "-O", "dts", path))
	if err != nil {
		return err
	}
	c := exec.Command("dtc", "-q", "-I", "dts", "-O", "dtb", "-o", path)
	c.Stdin = bytes.NewReader([]byte(source + nodes))
	_, err = output(c)
	return err
}
