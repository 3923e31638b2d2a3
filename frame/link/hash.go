package link

import "crypto/sha256"

// Hash names the end of a long message: the first 8 bytes of its SHA-256.
func Hash(tail []byte) (hash [8]byte) {
	sum := sha256.Sum256(tail)
	copy(hash[:], sum[:])
	return hash
}
