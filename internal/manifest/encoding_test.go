package manifest

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf16"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Files in UTF-16, as PowerShell writes them, are read, document by document.
func TestUTF16(t *testing.T) {
	const text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a, annotations: {note: ü𝄞}}\nspec: &spec\n" +
		"  template: {spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}}}\n" +
		"---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n"
	for name, order := range map[string]binary.ByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		var b bytes.Buffer
		if err := binary.Write(&b, order, append([]uint16{0xfeff}, utf16.Encode([]rune(text))...)); err != nil {
			t.Fatal(err)
		}
		if got := string(UTF8(b.Bytes())); got != text {
			t.Errorf("%s endian: %q", name, got)
		}
		file := filepath.Join(t.TempDir(), "pool.yaml")
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		set, err := Read(t.Context(), []string{file}, Options{})
		if err != nil {
			t.Fatalf("%s endian: %v", name, err)
		}
		pools := Of[*apiv1.NodePool](set)
		if len(pools) != 1 || pools[0].Annotations["note"] != "ü𝄞" {
			t.Errorf("%s endian: NodePools are %v", name, pools)
		}
	}
	for _, same := range []string{"", "a", "\xff", "\xef\xbb\xbfa: b"} {
		if got := string(UTF8([]byte(same))); got != same {
			t.Errorf("%q became %q", same, got)
		}
	}
}
