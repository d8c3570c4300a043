# Waits in the domain that starts services until it is told, and starts the web server from there, so that the policy
# puts it into its own domain.
read go </run/go
exec /usr/sbin/nginx
