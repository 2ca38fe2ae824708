{{- define "tidelog.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 48 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tidelog.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "tidelog.brokerLabels" -}}
{{ include "tidelog.selectorLabels" . }}
app.kubernetes.io/component: broker
{{- end -}}

{{- define "tidelog.labels" -}}
{{ include "tidelog.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "tidelog.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}

{{- define "tidelog.serviceAccountName" -}}
{{- if .Values.serviceAccount.name -}}{{ .Values.serviceAccount.name }}
{{- else if .Values.serviceAccount.create -}}{{ include "tidelog.fullname" . }}
{{- else -}}default
{{- end -}}
{{- end -}}

{{- define "tidelog.brokersService" -}}
{{ include "tidelog.fullname" . }}-brokers
{{- end -}}

{{/* The domain behind a pod's name. */}}
{{- define "tidelog.brokersDomain" -}}
{{ include "tidelog.brokersService" . }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end -}}

{{- define "tidelog.voters" -}}
{{- $root := . -}}
{{- $voters := list -}}
{{- range $id := until (int .Values.quorum.voters) -}}
{{- $voters = append $voters (printf "%d@%s-%d.%s:%d" $id (include "tidelog.fullname" $root) $id (include "tidelog.brokersDomain" $root) (int $root.Values.listeners.brokers.port)) -}}
{{- end -}}
{{- join "," $voters -}}
{{- end -}}

{{/* Of a list of a name and a core: the first core's port has the name itself, core 2's is clients-2, say. */}}
{{- define "tidelog.portName" -}}
{{ first . }}{{ with last . }}-{{ . }}{{ end }}
{{- end -}}

{{/* Where the commands in a pod begin: any core of it. */}}
{{- define "tidelog.ownCores" -}}
{{- $root := . -}}
{{- $found := list -}}
{{- range $core := until (int .Values.cores) -}}
{{- $found = append $found (printf "$(POD_NAME).%s:%d" (include "tidelog.brokersDomain" $root) (add $root.Values.listeners.brokers.port $core)) -}}
{{- end -}}
{{- join "," $found -}}
{{- end -}}

{{- define "tidelog.resources" -}}
{{- $resources := deepCopy .Values.resources -}}
{{- if and (gt (int .Values.cores) 1) (eq (toString (dig "requests" "cpu" "" $resources)) "1") -}}
{{- $_ := set $resources.requests "cpu" (toString .Values.cores) -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{- define "tidelog.listeners" -}}
CLIENTS://0.0.0.0:{{ .Values.listeners.clients.port }},BROKERS://0.0.0.0:{{ .Values.listeners.brokers.port }}
{{- if .Values.external.enabled }},EXTERNAL://0.0.0.0:{{ .Values.external.port }}{{ end -}}
{{- end -}}

{{/* $(POD_NAME), $(POD_INDEX) and $(HOST_IP) are resolved by Kubernetes. */}}
{{- define "tidelog.advertisedListeners" -}}
{{- $host := printf "$(POD_NAME).%s" (include "tidelog.brokersDomain" .) -}}
CLIENTS://{{ $host }}:{{ .Values.listeners.clients.port }},BROKERS://{{ $host }}:{{ .Values.listeners.brokers.port }}
{{- if .Values.external.enabled -}}
{{- if eq .Values.external.type "LoadBalancer" -}}
,EXTERNAL://$(POD_NAME).{{ .Values.external.domain }}:{{ .Values.external.port }}
{{- else -}}
,EXTERNAL://{{ default "$(HOST_IP)" .Values.external.host }}:{{ if gt (int .Values.cores) 1 }}{{ div (int .Values.external.nodePort) 100 }}$(POD_INDEX)0{{ else }}{{ div (int .Values.external.nodePort) 10 }}$(POD_INDEX){{ end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tidelog.protocols" -}}
{{- $found := list .Values.listeners.clients.protocol .Values.listeners.brokers.protocol -}}
{{- if .Values.external.enabled -}}{{- $found = append $found .Values.external.protocol -}}{{- end -}}
{{- join "," $found -}}
{{- end -}}

{{- define "tidelog.usesTls" -}}
{{- if regexMatch "(^|,)(SSL|SASL_SSL)(,|$)" (include "tidelog.protocols" .) -}}true{{- end -}}
{{- end -}}

{{- define "tidelog.usesSasl" -}}
{{- if contains "SASL_" (include "tidelog.protocols" .) -}}true{{- end -}}
{{- end -}}

{{/* What the commands in a pod need to talk to the brokers: they use the listener of the brokers, and their certificate. */}}
{{- define "tidelog.clientOptions" -}}
{{- if eq .Values.listeners.brokers.protocol "SSL" }}
- -X
- security.protocol=SSL
- -X
- ssl.ca.location=/etc/tidelog-tls/{{ .Values.tls.caKey }}
- -X
- ssl.certificate.location=/etc/tidelog-tls/{{ default .Values.tls.certificateKey .Values.tls.combinedKey }}
- -X
- ssl.key.location=/etc/tidelog-tls/{{ default .Values.tls.privateKeyKey .Values.tls.combinedKey }}
{{- end }}
{{- end -}}

{{- define "tidelog.check" -}}
{{- if lt (int .Values.replicas) (int .Values.quorum.voters) -}}
{{- fail (printf "replicas is %d, and quorum.voters is %d: every voter is a broker. For a single broker, set both to 1." (int .Values.replicas) (int .Values.quorum.voters)) -}}
{{- end -}}
{{- if and (include "tidelog.usesTls" .) (not .Values.tls.secretName) -}}
{{- fail "A listener speaks TLS: name the secret with the certificate, tls.secretName." -}}
{{- end -}}
{{- $handover := ternary 60 45 (gt (int .Values.cores) 1) -}}
{{- if lt (int .Values.stopping.terminationGracePeriodSeconds) (add (int .Values.stopping.waitSeconds) $handover) -}}
{{- fail (printf "stopping.terminationGracePeriodSeconds must be %d s longer than stopping.waitSeconds: the broker hands its partitions over after the wait." $handover) -}}
{{- end -}}
{{- include "tidelog.checkCores" . -}}
{{- if .Values.external.enabled -}}
{{- if and (eq .Values.external.type "LoadBalancer") (not .Values.external.domain) -}}
{{- fail "external.type LoadBalancer needs external.domain: broker N is advertised as <fullname>-N.<domain>." -}}
{{- end -}}
{{- if and (eq .Values.external.type "NodePort") (or (mod (int .Values.external.nodePort) 10) (gt (int .Values.replicas) 10)) -}}
{{- fail "external.type NodePort: external.nodePort must end with 0, and at most ten brokers fit behind it." -}}
{{- end -}}
{{- end -}}
{{- range $name := list "node.id" "listeners" "advertised.listeners" "listener.security.protocol.map" "inter.broker.listener.name" "controller.quorum.voters" "log.dirs" "broker.rack" "metrics.port" "metrics.host" "schema.registry.port" "schema.registry.host" "broker.cores" "broker.machine" -}}
{{- if hasKey $.Values.settings $name -}}
{{- fail (printf "The chart decides %s: set the value of the chart that belongs to it instead." $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tidelog.checkCores" -}}
{{- $cores := int .Values.cores -}}
{{- if gt $cores 1 -}}
{{- $ports := dict "listeners.clients.port" .Values.listeners.clients.port "listeners.brokers.port" .Values.listeners.brokers.port "metrics.port" .Values.metrics.port -}}
{{- if .Values.external.enabled -}}
{{- $_ := set $ports "external.port" .Values.external.port -}}
{{- if and (eq .Values.external.type "NodePort") (or (mod (int .Values.external.nodePort) 100) (gt $cores 10)) -}}
{{- fail "external.type NodePort with several cores: external.nodePort must end with 00, and at most ten cores of a broker fit there." -}}
{{- end -}}
{{- end -}}
{{- with .Values.schemaRegistry.port }}{{ $_ := set $ports "schemaRegistry.port" . }}{{ end -}}
{{- range $name, $port := $ports -}}
{{- range $other, $taken := $ports -}}
{{- if and (lt $name $other) (lt (sub (max $port $taken) (min $port $taken)) $cores) -}}
{{- fail (printf "%s is %d and %s is %d, but each needs %d ports in a row, one for each core: move one of them." $name (int $port) $other (int $taken) $cores) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
