package convert

import "testing"

// A size is converted to the format of v1. Zero is no size: EC2 has no volume of 0 GiB.
func TestVolumeSize(t *testing.T) {
	for was, want := range map[string]string{
		"20Gi": "20Gi", "020Gi": "20Gi", "100": "100Gi", "30GB": "30G", "1Ti": "1Ti", "1500Mi": "2Gi", "0.5Ti": "512Gi",
		"0": "", "0Gi": "", "00G": "", "0GB": "", "0Mi": "", "-1Gi": "", "Gi": "", "": "", "large": "",
	} {
		if got := volumeSize(was); got != want {
			t.Errorf("%q is converted to %q, want %q", was, got, want)
		}
	}
}
