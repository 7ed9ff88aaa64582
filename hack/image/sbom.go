package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"regexp"
	"time"
)

// notID matches characters that are not allowed in an SPDX identifier.
var notID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// sbom lists every module that is linked into a Go binary, as an SPDX 2.3 document.
func sbom(binary []byte, version string, at time.Time) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, fmt.Errorf("read what the binary was built from: %w", err)
	}
	type object = map[string]any
	entry := func(id, name, version string) object {
		return object{"SPDXID": "SPDXRef-" + notID.ReplaceAllString(id, "-"), "name": name, "versionInfo": version,
			"downloadLocation": "NOASSERTION", "filesAnalyzed": false,
			"externalRefs": []object{{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
				"referenceLocator": "pkg:golang/" + name + "@" + version}}}
	}
	packages := []object{entry("main", info.Main.Path, version), entry("std", "stdlib", info.GoVersion)}
	links := []object{{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-main"}}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		packages = append(packages, entry(dep.Path+"-"+dep.Version, dep.Path, dep.Version))
	}
	for _, p := range packages[1:] {
		links = append(links, object{"spdxElementId": "SPDXRef-main", "relationshipType": "DEPENDS_ON", "relatedSpdxElement": p["SPDXID"]})
	}
	return json.MarshalIndent(object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
		"name":              "karpenter-" + version,
		"documentNamespace": "https://github.com/karpenter-go/karpenter/sbom/" + digest(binary),
		"creationInfo":      object{"created": at.UTC().Format(time.RFC3339), "creators": []string{"Tool: hack/image"}},
		"packages":          packages, "relationships": links,
	}, "", " ")
}
