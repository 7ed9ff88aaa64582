{{/* Adds the default values that are missing. helm upgrade --reuse-values replaces the default values of this chart by those of the
chart that was installed before, for example upstream's. Helm also removes a value that is null. A setting, a permission or a value of
serviceAccount gets its default then. Other values stay removed, so that null can remove for example a nodeSelector. */}}
{{- define "karpenter.complete" -}}
{{- $defaults := .Files.Get "files/values.yaml" | fromYaml }}
{{- $missing := pick $defaults "settings" "extraPermissions" "serviceAccount" }}
{{- if not (hasKey .Values "extraPermissions") }}
{{- $missing = $defaults }}
{{- end }}
{{- include "karpenter.add" (list .Values $missing) }}
{{- include "karpenter.unquote" (list .Values $defaults) }}
{{- end }}

{{/* Replaces the texts "true", "false" and of whole numbers in the first map by booleans and numbers, where the second one has those.
Terraform, Argo CD and helm --set-string pass each value as text, and the text "false" counts as true in a template. */}}
{{- define "karpenter.unquote" -}}
{{- $values := first . }}
{{- range $key, $default := last . }}
{{- $value := get $values $key }}
{{- if and (kindIs "map" $default) (kindIs "map" $value) }}
{{- include "karpenter.unquote" (list $value $default) }}
{{- else if not (kindIs "string" $value) }}
{{- else if and (kindIs "bool" $default) (has $value (list "true" "false")) }}
{{- $_ := set $values $key (eq $value "true") }}
{{- else if and (or (kindIs "float64" $default) (kindIs "int64" $default) (kindIs "int" $default)) (regexMatch "^(0|[1-9][0-9]{0,17})$" $value) }}
{{- $_ := set $values $key (int64 $value) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Adds to the first map the keys that only the second one has, at all depths. A key whose value is null counts as missing. */}}
{{- define "karpenter.add" -}}
{{- $values := first . }}
{{- range $key, $default := last . }}
{{- if kindIs "invalid" (index $values $key) }}
{{- $_ := set $values $key $default }}
{{- else if and (kindIs "map" $default) (kindIs "map" (index $values $key)) }}
{{- include "karpenter.add" (list (index $values $key) $default) }}
{{- end }}
{{- end }}
{{- end }}
