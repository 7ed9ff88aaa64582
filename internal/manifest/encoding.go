package manifest

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

// UTF8 returns text in UTF-8. It converts text in UTF-16, the encoding in which PowerShell writes the output of kubectl. It
// recognises UTF-16 by its byte order mark. Other text is returned unchanged.
func UTF8(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return text
	}
	units := make([]uint16, 0, len(text)/2)
	for rest := text[2:]; len(rest) >= 2; rest = rest[2:] {
		units = append(units, order.Uint16(rest))
	}
	return []byte(string(utf16.Decode(units)))
}
