package main

import (
	"os"
	"path/filepath"
	"regexp"
)

// controllerName matches where the code names a controller: the method Name, or the label of a periodic task. A name that ends
// with a dot is followed by the kind of the objects.
var controllerName = regexp.MustCompile(`Name\(\) string +\{ return "([a-z.]+)"|Label: +"([a-z.]+)"`)

// controllerNames returns the names of the controllers below root, except those of other providers than AWS. KIND stands for the
// kind of objects.
func controllerNames(root string) (map[string][]string, error) {
	names := map[string][]string{}
	for _, dir := range []string{"internal/controller", "provider/aws"} {
		err := goFiles(filepath.Join(root, dir), func(path string) error {
			text, err := os.ReadFile(path)
			for _, m := range controllerName.FindAllSubmatch(text, -1) {
				name := string(m[1]) + string(m[2]) // one of the two is empty
				if name[len(name)-1] == '.' {
					name += "KIND"
				}
				names[name] = nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}
