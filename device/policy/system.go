package policy

import "boardhand/device"

// System implements device.Board: it is nil unless the file opens it.
func (b *Board) System() device.System {
	switch a := b.rules.System.Access; {
	case a == AccessNone, a == AccessDefault && b.rules.Allow != Everything:
		return nil
	}
	return b.inner.System()
}
